"""Find columns of several judges and questions, counts of votes, people's tags, and outputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from reviewdesk.reports.tables.cells import FRONT, is_criterion, likely_number, name, parsed
from reviewdesk.reports.tables.nested import JUDGE, SURE
from reviewdesk.reports.tables.roles import TableRoles, stem_of
from reviewdesk.reports.tables.table_map import at_path
from reviewdesk.reports.wording import JsonObject

_WORDS = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")
_PASSING = frozenset({"pass", "passes", "passed", "yes", "for", "approve", "upvotes"})
_FAILING = frozenset({"fail", "fails", "failed", "no", "against", "reject", "downvotes"})
_VOTERS = frozenset({"judges", "total", "jurors", "voters", "raters", "votes", "panel"})
_COUNTED = frozenset({"n", "num", "count", "counts", "votes", "vote", "total", "number"})
_REPEAT = re.compile(
    r"(?:run|seed|rep|repetition|sample)(?:[ _-]?(?:id|no|nr|idx|index))?$", re.IGNORECASE
)
_PARTS = ("generator", "model", "subject", "turn", "round", "variant", "system", "condition", "run")
"""Roles and columns that tell apart the rows of one item and judge."""
_TAGS = frozenset({"label", "labels", "tags", "annotations", "cats", "categories"})
_RESPONSES = ("answer", "response", "output", "completion", "reply", "generation", "text")
AGAIN = re.compile(
    r"(?:run|trial|attempt|sample|repeat|seed|epoch|iteration)[ _-]?\d+$", re.IGNORECASE
)
BETWEEN = ("_", " ", ".", ":", "-", "/")
_JOINS = (
    *((f"{space}{sign}", end) for sign, end in ("()", "[]") for space in (" ", "")),
    *((mark, "") for mark in (": ", " - ", " | ", "__", *BETWEEN)),
)
"""What stands between a judge and a question in the name of a column, and behind them."""


class TableShapes(TableRoles):
    """The rules of a table whose columns do not hold one answer of one judge each."""

    def told_apart(self, made: JsonObject, besides: Sequence[str], *, wide: bool = True) -> str:
        """Add columns to the item's id if rows of one id differ in none of other paths.

        Return the column if it has no known role.
        """
        said = [made["item"], *filter(None, [*besides, made.get("epoch", "")])]
        if not made["item"] or not self.recurs(said):
            return ""
        named = {one.casefold(): one for one in self.columns}
        again = [one for one in self.columns if _REPEAT.match(one)]
        parts = [*again, *(self.roles.get(one) or named.get(one, "") for one in _PARTS)]
        parts = [one for one in dict.fromkeys(parts) if one and one not in said]
        known = {*self.roles.values(), *said, *parts}
        rest = [one for one in self.columns if one not in known and self.recurs([one]) and not wide]
        more = next((one for one in (*parts, *rest) if not self.recurs([*said, one])), "")
        chosen = [more] if more else parts
        if chosen and not self.recurs([*said, *chosen]):
            if chosen[0] in again and self.is_repeat(made, chosen[0]):
                made["epoch"] = chosen[0]
                return ""
            made["item"] = " + ".join([made["item"], *chosen])
            if made.get("model") in chosen:
                made["generator"] = made.pop("model")
        elif wide:
            # Rows of one id that nothing tells apart are items of their own.
            made |= {"title": made["item"], "item": ""}
        return more if more in rest else ""

    def is_repeat(self, made: JsonObject, column: str) -> bool:
        """Return True if a column numbers the runs of judges on the same output."""
        paths = [made["item"], made.get("output", "")]
        found = {tuple(name(at_path(row.cells, one)) for one in paths) for row in self.sample}
        same = len(found) == len({item for item, _ in found})
        return same and all(str(one).isdecimal() for one in self.cells(column))

    def counts(self) -> list[JsonObject]:
        """Return the rules of columns that count votes, such as ``votes_for``; else an empty list.

        They are the passing votes, and the failing ones or all of them.
        """
        found: dict[str, list[str]] = {"pass": [], "fail": [], "all": []}
        for column in self.columns:
            words = {*_WORDS.split(column.casefold())}
            numbers = [*map(likely_number, self.cells(column))]
            if not numbers or any(one is None or one < 0 or one != int(one) for one in numbers):
                continue
            for kind, names in (("pass", _PASSING), ("fail", _FAILING), ("all", _VOTERS)):
                if words & names and (words & _COUNTED or len(words) == 1):
                    found[kind].append(column)
                    break
        if any(map(JUDGE.search, found["pass"])):
            return []
        passes, rest = found["pass"], found["fail"] or found["all"]
        if (
            len(passes) != 1
            or len(rest) != 1
            or not any(self.highest(one) > 1 for one in (*passes, *rest))
        ):
            return []
        rule = {"columns": passes, "score": "", "pass": "=yes", "times": "*"}
        others = {"columns": rest, "score": "", "pass": "=no", "times": "*"}
        if not found["fail"]:
            others |= {"judge": f"={rest[0]} - {passes[0]}", "less": passes[0]}
        return [rule, others]

    def within(self, judges: Sequence[str]) -> list[str]:
        """Return the columns that are no numbers beyond those of judges with known names."""
        named = [one for one in judges if JUDGE.search(one)]
        top = max(map(self.highest, named), default=0)
        top = next((one for one in (1, 5, 10, 100) if top <= one), top)
        rest = [one for one in judges if one in named or is_criterion(one)]
        return [one for one in judges if not named or one in rest or self.highest(one) <= top]

    def highest(self, column: str) -> float:
        return max((likely_number(one) or 0 for one in self.cells(column)), default=0)

    def winners(self, column: str) -> list[JsonObject]:
        """Return the rules of a column that holds the name of the better one of two models."""
        first, second = self.roles.get("generator", ""), self.roles.get("rival", "")
        rows = [
            [name(row.cells.get(one)) for one in (column, first, second)] for row in self.sample
        ]
        if not second or 2 * sum(row[0] in row[1:] for row in rows) <= len(rows):
            return []
        return [
            {"where": {column: f"!={first}", f"{column}|": f"!={second}"}},
            {"where": {column: f"!={first}"}, "pass": "=no"},
            {"where": {column: "*"}, "pass": "=yes"},
            {},
        ]

    def tagged(self) -> str:
        """Return the column of lists of words that people chose, as in doccano; or an empty text.

        Lists that all have the same length, above one, may be the votes of judges.
        """
        for column in self.columns:
            lists = [parsed(one) for one in self.cells(column)]
            if column.casefold() in _TAGS and lists and all(map(_is_words, lists)):
                lengths = {len(one) for one in lists} - {0}
                if len(lengths) > 1 or lengths == {1}:
                    return column
        return ""

    def outputs(self, columns: Sequence[str]) -> JsonObject | None:
        """Return the rule of scores that stand beside the output of one model each, or None."""
        stems = [stem_of(one) for one in columns]
        own = self.roles.get("output", "")
        if len(stems) < 2 or any(map(SURE.search, stems)):
            return None
        for word in _RESPONSES:
            for mark in (*BETWEEN, ": "):
                for start, end in (("", mark + word), (word + mark, "")):
                    names = {f"{start}{stem}{end}".casefold() for stem in stems}
                    named = [one for one in self.columns if one.casefold() in names]
                    if len(named) == len(stems) and (own in named or not own):
                        place = named[0].casefold().index(stems[0].casefold(), len(start))
                        path = f"{named[0][:place]}*{named[0][place + len(stems[0]) :]}"
                        return {"dimension": "=*", "judge": "=score", "output": path}
        return None

    def results(self, columns: Sequence[str]) -> list[str]:
        """Return the columns of outputs with their results in front, such as ``[PASS] Paris``."""
        held = {one: [*map(str, self.cells(one))] for one in columns}
        return [one for one, cells in held.items() if cells and all(map(FRONT.match, cells))]


def _is_words(listed: object) -> bool:
    return isinstance(listed, list) and all(isinstance(one, str) for one in listed)


def frames_of(stems: Sequence[str]) -> tuple[str, dict[str, tuple[str, str]]]:
    """Return how the names of columns are made of those of judges and of questions or runs.

    These are the role of the question or run (``dimension`` or ``epoch``), and for each of them
    what stands before and behind the judge; nothing for other columns.
    """
    for (mark, close), way in product(_JOINS, _WAYS):
        pairs = [_parted(one, mark, close, way) for one in stems]
        firsts, lasts = ([*dict.fromkeys(one[at] for one in pairs)] for at in (0, 1))
        if not all((*firsts, *lasts)) or 2 * len(stems) <= len(firsts) * len(lasts):
            continue
        if len(lasts) > 1 and all(map(AGAIN.match, lasts)):
            return "epoch", {one: ("", f"{mark}{one}{close}") for one in lasts}
        if _are_judges(firsts, lasts, len(stems)):
            return "dimension", {one: ("", f"{mark}{one}{close}") for one in lasts}
        if _are_judges(lasts, firsts, len(stems)):
            return "dimension", {one: (f"{one}{mark}", close) for one in firsts}
    return "", {}


_WAYS = (
    lambda parts: next((one for one in parts if is_criterion(one[1])), ("", "")),
    lambda parts: next((one for one in reversed(parts) if is_criterion(one[0])), ("", "")),
    lambda parts: parts[0],
    lambda parts: parts[-1],
)
"""Ways to choose from the places at which a name can be parted."""


def _parted(column: str, mark: str, close: str, way: Callable[..., Any]) -> tuple[str, str]:
    """Return the two parts of a column's name, which are empty if it has no such parts."""
    inner = column.removesuffix(close)
    places = [at.span() for at in re.finditer(re.escape(mark), inner)]
    parts = [(inner[:first], inner[last:]) for first, last in places if column.endswith(close)]
    return way(parts) if parts else ("", "")


def _are_judges(names: Sequence[str], asked: Sequence[str], columns: int) -> bool:
    """Return True if some names are judges' and others those of questions, by some of the pairs."""
    several = len(names) > 1 and len(asked) > 1
    whole = several and columns == len(names) * len(asked)
    if len(asked) > 1 and all(map(JUDGE.search, names)):
        return whole or any(map(is_criterion, asked))
    return several and all(map(is_criterion, asked))
