"""Find columns of several judges and questions, counts of votes, people's tags, and outputs."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from os.path import commonprefix
from typing import Any

from reviewdesk.reports.tables.cells import (
    FRONT,
    NEITHER,
    REASONS,
    USUAL,
    is_criterion,
    likely_number,
    name,
    parsed,
)
from reviewdesk.reports.tables.nested import JUDGE, MODEL, SURE
from reviewdesk.reports.tables.roles import TableRoles, frame_of, stem_of
from reviewdesk.reports.tables.table_map import at_path
from reviewdesk.reports.wording import JsonObject

_WORDS = re.compile(r"[\W_]+")
_WHOLE = re.compile(r"\d+(?:\.0)?\Z")
_VOTES = {
    "pass": frozenset({"pass", "passes", "passed", "yes", "for", "approve", "upvotes"}),
    "fail": frozenset({"fail", "fails", "failed", "no", "against", "reject", "downvotes"}),
    "all": frozenset({"judges", "total", "jurors", "voters", "raters", "votes", "panel"}),
}
"""Words in the names of columns that count votes."""
_COUNTED = frozenset({"n", "num", "count", "counts", "votes", "vote", "total", "number"})
_RANK = re.compile(r"(?:^|[\W_])(?:rank(?:ing|ed)?|rang|platz)(?:$|[\W_])", re.IGNORECASE)
_REPEAT = re.compile(
    r"(?:run|seed|rep|repetition|sample)(?:[ _-]?(?:id|no|nr|idx|index))?$", re.IGNORECASE
)
_PARTS = "generator model subject turn round variant system condition suite"
"""Roles and columns that tell apart the rows of one item and judge."""
FAULT = re.compile(
    r"(?<!no[_ -])(?<!not[_ -])(?<!non[_ -])(?<!without[_ -])(?:halluc|toxic|harmful|unsafe|violat"
    r"|jailbr|leak|is_bias|offens|hate|^(?:is_)?failed$)",
    re.IGNORECASE,
)
YES = ["yes", "true", "y"]
NO = ["no", "false", "n"]
_TAGS = "label labels tags annotations cats categories"
SURENESS = ("confidence", "conf", "certainty", "probability", "prob")
_BESIDE = {
    "judge": ("name", "judge", "model"),
    "confidence": SURENESS,
    "error": ("error", "error_message"),
    "raw_score": ("raw", "raw_score"),
    "pass": ("pass", "passed", "verdict", "vote", "label", "result"),
}
"""Words in the names of columns that belong to the score of a judge."""
_RESPONSES = ("answer", "response", "output", "completion", "reply", "generation", "text")
AGAIN = re.compile(
    r"[\s_.-]*\(?(?:run|trial|attempt|sample|repeat|seed|epoch|iteration)[ _-]?\d+\)?$",
    re.IGNORECASE,
)
_RANGE = re.compile(
    r"[(\[](\d+) ?(?:-|–|to|\.\.|bis|à|a|do|tot|~|～) ?(\d+)[)\]]|(?:/|out of) ?(\d+)\)?\Z"
)
"""The scale in the name of a column, such as ``(1-5)`` or ``/10``."""
_BETWEEN = ("_", " ", ".", ":", "-", "/")
_JOINS = (
    *((f"{space}{sign}", end) for sign, end in ("()", "[]") for space in (" ", "")),
    *((mark, "") for mark in (": ", " - ", " | ", " / ", "__", *_BETWEEN)),
)
"""What stands between a judge and a question in the name of a column, and behind them."""


_OF_FAULT = {"pass": NO, "fail": YES}
"""The words for the answers to a question whether there is a fault."""


class TableShapes(TableRoles):
    """The rules of a table whose columns do not hold one answer of one judge each."""

    def told_apart(self, made: JsonObject, besides: Sequence[str], *, wide: bool = True) -> str:
        """Add columns to the item's id if its rows recur; return one without a known role."""
        said = [made["item"], *filter(None, [*besides, made.get("epoch", "")])]
        judged = [one for one in said if one == made.get("judge") and one in self.columns]
        if not made["item"] or not self.recurs(judged + said):
            return ""
        named = {one.casefold(): one for one in self.columns}
        again = [one for one in self.columns if _REPEAT.match(one)]
        parts = [*again, *(self.roles.get(one) or named.get(one, "") for one in _PARTS.split())]
        parts = [one for one in dict.fromkeys(parts) if one and one not in said]
        wide_rules = [rule for rule in made.get("ballots", ()) if "columns" in rule]
        answers = {one["score"].replace("*", name) for one in wide_rules for name in one["columns"]}
        known = {*self.roles.values(), *said, *parts, *answers}
        rest = [one for one in self.columns if one not in known and self.recurs([one]) and not wide]
        more = next((one for one in (*parts, *rest) if not self.recurs([*said, one])), "")
        chosen = [more] if more else parts
        if chosen and not self.recurs([*said, *chosen]):
            # A repeat numbers the runs of judges on the same output.
            paths = [made["item"], made.get("output", "")]
            found = {tuple(name(at_path(row.cells, one)) for one in paths) for row in self.sample}
            same = len(found) == len({item for item, _ in found})
            counted = all(str(one).isdecimal() for one in self.cells(chosen[0]))
            if chosen[0] in again and same and counted:
                made["epoch"] = chosen[0]
                return ""
            made["item"] = " + ".join([made["item"], *chosen])
            if made.get("model") in chosen:
                made["generator"] = made.pop("model")
        elif wide:
            # Rows of one id that nothing tells apart are items of their own.
            made |= {"title": made["item"], "item": ""}
        return more if more in rest else ""

    def shapes(self, judges: Sequence[str]) -> Iterator[tuple[str, list[JsonObject], list[str]]]:
        """Yield what is likely about the columns, with their rules and names."""
        held = {one: [*map(str, self.cells(one))] for one in self.columns}
        results = [one for one in held if held[one] and all(map(FRONT.match, held[one]))]
        if results:
            cell = dict.fromkeys(("score", "decision", "output"), "*")
            rule = {"columns": results, "judge": "=tests", "as": "check", "dimension": "=*"}
            yield "has an output and its result in one cell", [cell | rule], results
        if not judges and (column := self.tagged()):
            rule = {"as": "person", "label": f"{column}.0"}
            yield "has lists of words, as people choose them", [rule], [column]
        counts = self.counts()
        if counts and not any(map(JUDGE.search, judges)):
            counted = [one for rule in counts for one in rule["columns"]]
            yield "has numbers of votes, without the names of judges", counts, counted
        free = [one for one in self.columns if one not in {*self.roles.values(), *self.people}]
        if won := [*filter(self.names_winner, free)]:
            rule = self.columns_rule(won)
            path = str(rule["score"])
            rules = [{**rule, "score": "", "label": path, **one} for one in self.winners(path)]
            yield "names the better model for each judge", rules, won
        if self.people_rule and judges and {*judges} <= {*self.people}:
            yield (
                "has answers of people, unless --judge-columns names them",
                self.people_rule,
                [*judges],
            )
        said = self.said_in(judges)
        votes = {one for one in said if not NEITHER.search(one)}
        if "alternative" in self.roles and votes <= {"1", "2"} and ("2" in votes or votes < said):
            rule = self.columns_rule(judges)
            rule |= {"pass": rule["score"], "score": ""}
            yield "has 1 or 2 for the better one of two responses", [rule], [*judges]
        if len(judges) > 1 and not any(map(SURE.search, judges)):
            rule = self.columns_rule(judges)
            path = self.beside(frame_of(judges), rule["columns"], _RESPONSES)
            own = [path.replace("*", one) for one in rule["columns"]]
            if {*own} <= {*self.columns} and self.roles.get("output", own[0]) in own:
                rule |= {"dimension": "=*", "judge": "=score", "output": path}
                yield "has an output beside each score", [rule], [*judges]

    def columns_rule(
        self, named: Sequence[str], frame: tuple[str, str] | None = None
    ) -> JsonObject:
        """Return the rule of a wide table for columns, with the columns that belong to them."""
        start, end = frame = frame or frame_of(named)
        stems = [one[len(start) : len(one) - len(end)] for one in named]
        rule: JsonObject = {"columns": stems, "score": f"{start}*{end}"}
        given = [*filter(None, [self.options.reason_suffix])]
        if why := self.beside(frame, stems, [*given, *REASONS]):
            rule["reason"] = why
        elif numbered := self.numbered(stems, frame):
            return numbered
        elif len(named) == 1 and self.roles.get("output") != "pred_answer":
            whys = [one for one in self.columns if one.casefold().endswith(REASONS)]
            if "reason" in self.roles or len(whys) == 1:
                rule["reason"] = self.roles.get("reason", whys[0] if whys else "")
            for role in ("pass", "label"):
                if role in self.roles and self.roles[role] not in named:
                    rule[role] = self.roles[role]
        rule |= {role: self.beside(frame, stems, words) for role, words in _BESIDE.items()}
        score = rule["score"]
        others = {role: path for role, path in rule.items() if path not in ("", score)}
        return {"columns": stems, "score": score, **others}

    def framed(self, columns: Sequence[str]) -> list[JsonObject]:
        """Return the rules of columns, one for all whose names begin and end alike.

        Scores that are higher where the votes beside them are fails, as those of Phoenix for
        hallucinations are, are not read.
        """
        frames: dict[tuple[str, str], list[str]] = {}
        for one in columns:
            frames.setdefault(frame_of([one]), []).append(one)
        alike = [columns] if columns and frame_of(columns) in frames else frames.values()
        rules = []
        for rule in map(self.columns_rule, alike):
            turned = [one for one in rule["columns"] if "pass" in rule and self.turned(rule, one)]
            rest = [one for one in rule["columns"] if one not in turned]
            rules += [rule | {"columns": rest}] if rest else []
            rules += [rule | {"columns": turned, "score": ""}] if turned else []
        return rules

    def turned(self, rule: JsonObject, stem: str) -> bool:
        """Return True if the scores of a column are all higher where its votes are fails."""
        vote, score = (rule[role].replace("*", stem) for role in ("pass", "score"))
        found: dict[bool | None, list[float]] = {True: [], False: [], None: []}
        for row in self.sample:
            if (number := likely_number(at_path(row.cells, score))) is not None:
                found[USUAL.vote(at_path(row.cells, vote))].append(number)
        return bool(found[True] and found[False]) and max(found[True]) < min(found[False])

    def numbered(self, stems: Sequence[str], frame: tuple[str, str]) -> JsonObject:
        """Return the rule of columns such as ``judge_gpt`` beside ``reason_gpt``; else nothing."""
        shared = commonprefix(stems) if len(stems) > 1 else ""  # noqa: RUF071 - of names
        words = shared[: max(map(shared.rfind, _BETWEEN)) + 1]
        for start in filter(None, (shared, words)):
            ends = [one[len(start) :] for one in stems]
            if why := self.beside(("", ""), ends, REASONS):
                score = f"{frame[0]}{start}*{frame[1]}"
                return {"columns": ends, "judge": f"={start}*", "score": score, "reason": why}
        return {}

    def beside(self, frame: tuple[str, str], stems: Sequence[str], words: Sequence[str]) -> str:
        """Return the path of columns that are named by judges and one of some words."""
        start, end = frame
        known = {column.casefold(): column for column in self.columns}
        frames = [(start, f" ({word})") for word in words]
        for word in words:
            for mark in (*_BETWEEN, "__", ""):
                frames += [(start, f"{mark}{word}"), (start, f"{end}{mark}{word}")]
                frames += [(f"{word}{mark}", "")] if mark else []
        found = {
            f"{known[name][: len(first)]}*{known[name][len(first) + len(stem) :]}": None
            for first, last in frames
            for stem in stems
            if (name := f"{first}{stem}{last}".casefold()) in known
        }
        return "|".join(found)

    def faults(self, columns: Sequence[str], more: JsonObject) -> list[JsonObject]:
        """Return the rules of columns if yes means a fault in some of them and a pass in others."""
        asked = [one for one in columns if FAULT.search(one)]
        said = {one.casefold() for one in self.said_in(asked)}
        if "words" in self.made or len(asked) in (0, len(columns)) or not said <= {*YES, *NO}:
            return []
        rest = self.columns_rule([one for one in columns if one not in asked])
        rule = self.columns_rule(asked) | more
        votes = [
            {"where": {rule["score"]: words}, "pass": vote}
            for words, vote in ((YES, "=no"), (NO, "=yes"))
        ]
        return [rest | more, *(rule | {"score": ""} | one for one in (*votes, {}))]

    def invert(self, columns: Sequence[str]) -> None:
        """Let yes mean a fail if every column asks whether there is a fault."""
        cells = [cell for one in columns for cell in self.cells(one)]
        numbers = any(likely_number(one) is not None for one in cells)
        if columns and not numbers and all(map(FAULT.search, columns)):
            self.made["words"] = _OF_FAULT
            self.made["notes"] = ["yes is read as a fail, because the columns ask for faults"]
        elif columns and all(map(FAULT.search, columns)):
            self.made["notes"] = ["a high score may mean a fault, as the columns ask for faults"]

    def grid(self, columns: Sequence[str]) -> list[JsonObject]:
        """Return the rules of columns for each judge and question, such as ``gpt_tone``."""
        start, end = frame_of(columns) if columns else ("", "")
        stems = [one[len(start) : len(one) - len(end)] for one in columns]
        role, frames = _frames_of(stems)
        rules = []
        for at, (asked, (first, last)) in enumerate(frames.items(), 1):
            frame = (start + first, last + end)
            framed = [one for one in columns if one.startswith(frame[0]) and one.endswith(frame[1])]
            part = {role: f"={at if role == 'epoch' else asked}"}
            rules.append(self.columns_rule(framed, frame) | part)
        return rules

    def named_scale(self, columns: Sequence[str]) -> JsonObject:
        """Return the scale that is in the names of all columns, or of each, as a part of a map."""
        ranges = {one: _RANGE.search(one) for one in columns}
        scales = {
            stem_of(one): [int(found[1] or 0), int(found[2] or found[3])]
            for one, found in ranges.items()
            if found
        }
        if len(scales) < len(columns) or not scales:
            return {}
        first = next(iter(scales.values()))
        alike = all(one == first for one in scales.values())
        return {"scale": first} if alike else {"scales": scales}

    def people_grid(self, rules: Sequence[JsonObject]) -> list[JsonObject]:
        """Return the rules of the columns of people for the questions of some rules."""
        found = []
        people = self.people_rule[0]["columns"] if self.people_rule else ()
        for rule in rules:
            start, _, end = rule["score"].partition("*")
            named = [one for one in people if one.startswith(start) and one.endswith(end)]
            named = named if "dimension" in rule else []
            stems = [one[len(start) : len(one) - len(end)] for one in named]
            answer = {"label": rule["score"], "by": "=*", "dimension": rule.get("dimension")}
            found += [{"columns": stems, "as": "person", **answer}] if named else []
        return found

    def counts(self) -> list[JsonObject]:
        """Return the rules of columns that count passing votes, and failing ones or all."""
        found: dict[str, list[str]] = {}
        for column in self.columns:
            words = {*_WORDS.split(column.casefold())}
            kinds = [kind for kind, names in _VOTES.items() if words & names]
            counted = bool(kinds) and (words & (_COUNTED | _VOTES["all"]) or len(words) == 1)
            if counted and all(_WHOLE.match(str(one)) for one in self.cells(column)):
                found.setdefault(kinds[0], []).append(column)
        passes = found.get("pass", [])
        rest = found.get("fail", found.get("all", []))
        if not len(passes) == len(rest) == 1 or self.highest([*passes, *rest]) <= 1:
            return []
        rule = {"columns": passes, "score": "", "pass": "=yes", "times": "*"}
        others = {"columns": rest, "score": "", "pass": "=no", "times": "*"}
        if "fail" not in found:
            others |= {"judge": f"={rest[0]} - {passes[0]}", "less": passes[0]}
        return [rule, others]

    def within(self, judges: Sequence[str]) -> list[str]:
        """Return the columns that are not numbers beyond those of judges with known names."""
        named = [one for one in judges if JUDGE.search(one)]
        frames = {frame_of([one]) for one in named}
        if len(frames) == 1 < len(named) and ("", "") not in frames:
            judges = [one for one in judges if frame_of([one]) in frames or is_criterion(one)]
        elif named and all(likely_number(cell) is not None for cell in self.cells(named[0])):
            # Beside scores, what holds no number is a fact on the row.
            judges = [one for one in judges if one in named or self.highest([one])]
        top = self.highest(named)
        top = next((one for one in (1, 5, 10, 100) if top <= one), top)
        rest = [one for one in judges if one in named or is_criterion(one)]
        return [one for one in judges if not named or one in rest or self.highest([one]) <= top]

    def ranks(self) -> list[str]:
        """Return the columns of ranks, whose best is 1, and add their scale to the map."""
        found = [one for one in self.columns if _RANK.search(one) and self.highest([one]) > 1]
        if found:
            self.made["scale"] = [self.highest(found), 1]
            self.made["notes"] = ["a rank is read as a score, and 1 as the best one"]
        return found

    def names_winner(self, column: str) -> bool:
        """Return True if a column holds the name of the better one of two models."""
        models = [self.roles.get("generator", ""), self.roles.get("rival", "")]
        return all(models) and bool(self.said_in([column]) & self.said_in(models))

    def winners(self, column: str) -> list[JsonObject]:
        """Return the rules of a column that names the better one of two models."""
        first, second = self.roles["generator"], self.roles["rival"]
        return [
            {"where": {column: f"!={first}", f"{column}|": f"!={second}"}},
            {"where": {column: f"!={first}"}, "pass": "=no"},
            {"where": {column: "*"}, "pass": "=yes"},
            {},
        ]

    def tagged(self) -> str:
        """Return the column of lists of words that people chose, as in doccano, or ""."""
        for column in self.columns:
            lists = [
                parsed(one) for one in self.cells(column) if column.casefold() in _TAGS.split()
            ]
            words = [one for one in lists if type(one) is list and {*map(type, one)} <= {str}]
            lengths = {*map(len, words)} - {0}
            said = {str(text) for one in words for text in one}
            # A tool tags what it ran; only votes among such words are a person's.
            of_run = column.casefold() == "tags" and None in map(USUAL.vote, said)
            if words == lists and not of_run and (len(lengths) > 1 or lengths == {1}):
                return column
        return ""


def are_sure(judges: Sequence[str]) -> bool:
    """Return True if all names are those of judges, and none may be that of a judge's question."""
    rest = [
        re.sub(rf"{SURE.pattern}|[\W_]", "", stem_of(one), flags=re.IGNORECASE) for one in judges
    ]
    short = all(len(one) < 3 or JUDGE.search(one) or one[-1].isdigit() for one in rest)
    return all(map(SURE.search, judges)) and (short or len(judges) == 1)


def are_models(names: Sequence[str]) -> list[str]:
    """Return the names of evaluators that are told apart by models, as judges of one question."""
    matches = {one: MODEL.search(one) for one in names if not is_criterion(one)}
    found = {one: match[0].casefold() for one, match in matches.items() if match}
    return [*found] if len({*found.values()}) > 1 and not _frames_of([*found])[0] else []


def _frames_of(stems: Sequence[str]) -> tuple[str, dict[str, tuple[str, str]]]:
    """Return what columns tell apart beside judges, and what surrounds a judge's name in them.

    That is ``dimension`` or ``epoch``, with the texts before and after by question or by run.
    """
    if runs := {one[0] for one in map(AGAIN.search, stems) if one}:
        judges = {one.removesuffix(run) for one in stems for run in runs if one.endswith(run)}
        if len(runs) > 1 and len(stems) == len(runs) * len(judges):
            return "epoch", {run: ("", run) for run in sorted(runs)}
    for (mark, close), way in product(_JOINS, _WAYS):
        pairs = [_parted(one, mark, close, way) for one in stems]
        firsts, lasts = ([*dict.fromkeys(one[at] for one in pairs)] for at in (0, 1))
        if not all((*firsts, *lasts)) or 2 * len(stems) <= len(firsts) * len(lasts):
            continue
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
    inner = column.removesuffix(close) if column.endswith(close) else ""
    places = [at.span() for at in re.finditer(re.escape(mark), inner)] if mark in inner else []
    parts = [(inner[:first], inner[last:]) for first, last in places]
    return way(parts) if parts else ("", "")


def _are_judges(names: Sequence[str], asked: Sequence[str], columns: int) -> bool:
    """Return True if some names are judges' and others those of questions, by some of the pairs."""
    several = len(names) > 1 and len(asked) > 1
    whole = several and columns == len(names) * len(asked)
    if len(asked) > 1 and all(map(JUDGE.search, names)):
        return whole or any(map(is_criterion, asked))
    some = whole and any(map(is_criterion, asked)) and not any(map(is_criterion, names))
    return several and (some or all(map(is_criterion, asked)))
