"""Make a map of a plain table from the names of its columns and a person's options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

from msgspec import Struct, convert

from reviewdesk.domain.safetext import show_line
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.tables.cells import (
    BALLOT,
    FACTS,
    REASONS,
    Cells,
    DecidingWords,
    is_criterion,
    is_missing,
    is_word,
    likely_number,
    parsed,
    part_of_whole,
    roles_of,
    stated_error,
    with_decimal_point,
)
from reviewdesk.reports.tables.rows import Layout, TableRow
from reviewdesk.reports.tables.table_map import TableMap
from reviewdesk.reports.wording import JsonObject

_MOST_LISTED = 20
_MOST_WORDS = 6
_MARKS = "score|rating|grade|verdict|vote|value|label|pass|result"
_BEFORE = re.compile(rf"(?:{_MARKS})s?[_ .:/-]", re.IGNORECASE)
_BEHIND = re.compile(rf"[_ .:/-](?:{_MARKS})\Z", re.IGNORECASE)
"""The prefix or suffix that columns of scores add to the names of their judges."""
_ERRORS = ("error", "error_message")
_VOTES = ("pass", "passed", "verdict", "vote", "label", "result")
_BETWEEN = ("_", " ", ".", ":", "-", "/")
_SURE = re.compile(r"judge|juror|critic|grader|evaluator", re.IGNORECASE)
_JUDGE = re.compile(
    rf"{_SURE.pattern}|rater|gpt|claude|gemini|llama|mistral|qwen|deepseek|grok|command-r|\bo[1-4]\b",
    re.IGNORECASE,
)
_NO_SCORE = re.compile(
    r"(?:^|[_ ./:-])(?:idx|index|no|nr|num|number|count|tokens?|cost|latency|duration|time|length"
    r"|seed|turns?|words|chars|year|version|temperature|#|reason\w*|rationale|explanation|comments?"
    r"|feedback|created|threshold)$|^reason",
    re.IGNORECASE,
)
"""Columns that are not scores, although they may hold numbers or words that decide."""
_FAILS = re.compile(
    r"(?:un|in|not?|non|dis)[ _-]?\w{3}|bad|poor|wrong|negative|weak|low|harm|down|[d-f]$",
    re.IGNORECASE,
)
"""Words that more likely mean a fail than a pass."""
_NEITHER = re.compile(r"neutral|neither|mixed|partial|maybe|unsure|unclear|tie$", re.IGNORECASE)
"""Words for an answer between pass and fail."""
_ANSWERS = ("score", "pass", "label")
_INNER = frozenset({"item", "input", "output", "reference"})
_COMMENT = ".comment"


def listed(columns: Sequence[str]) -> str:
    """Return the names of columns, shortened to fit a line."""
    shown = ", ".join(show_line(column, 60) for column in columns[:_MOST_LISTED])
    more = f" and {len(columns) - _MOST_LISTED} more" if len(columns) > _MOST_LISTED else ""
    return f"{shown}{more}"


class Guess(Struct, frozen=True):
    """A map of a plain table; unless it is ``sure``, a person must name the columns."""

    made: TableMap
    judges: tuple[str, ...] = ()
    """The columns that may hold answers of judges or answers to criteria."""
    sure: bool = True
    problem: str = ""
    hint: str = ""
    elsewhere: bool = False
    """Whether another command takes the file."""
    format: str = ""
    """The format that the report states, if it is not the map's name."""


class Guesser:
    """The known facts of a table whose map is guessed."""

    def __init__(
        self, layout: Layout, sample: Sequence[TableRow], options: ReadOptions, command: str
    ) -> None:
        """Find the roles of the columns; ``command`` is the name of the file in hints."""
        self.columns = tuple(dict.fromkeys(name for name in layout.columns if name))
        self.twice = {one for one in self.columns if layout.columns.count(one) > 1}
        self.sample = sample
        self.options = options
        self.command = command
        self.see = f"See how it would be read: reviewdesk map {command}"
        self.read_labels = f"Read it with: reviewdesk labels import {command}"
        self.given = (*options.judge_columns, *options.criteria_columns)
        self.said = (*self.given, *filter(None, (options.item_column, options.output_column)))
        self.roles = roles_of(one for one in self.columns if one not in self.said)
        self.roles |= self.inner_roles()
        if self.roles.get("item") == "@key" and all(
            _JUDGE.search(row.cells["@key"]) for row in sample
        ):
            self.roles["judge"] = self.roles.pop("item")
        named = self.roles.get("human", "")
        said = self.cells(named) if named.casefold().strip() in {"reviewer", "expert"} else []
        if said and not any(map(DecidingWords(options).human, said)):
            del self.roles["human"]  # the column holds names and no labels
        self.made: JsonObject = {
            role: self.roles[role]
            for role in (*FACTS, "rubric", "human", "human_by", "human_at")
            if role in self.roles
        }
        if options.output_column:
            self.made["output"] = options.output_column
        self.item = options.item_column or self.roles.get("item") or ""
        if not self.item and self.columns and self.counts_rows(self.columns[0]):
            self.item = self.columns[0]

    def inner_roles(self) -> dict[str, str]:
        """Return the facts on an item that are inside objects, such as ``sample.id``.

        An object under the name of a fact is that fact only if none of its keys is.
        """
        found: dict[str, str] = {}
        row = self.sample[0].cells if self.sample else {}
        for column in self.columns:
            held = row.get(column)
            texts = held[0] if isinstance(held, list) and len(held) == 1 else held
            if not isinstance(texts, dict) or column == "^":
                continue
            start = f"{column}.0" if isinstance(held, list) else column
            for role, key in roles_of(texts).items():
                taken = self.roles.get(role, column) != column or role in found
                if role in _INNER and not taken and isinstance(texts[key], str | int):
                    found[role] = f"{start}.{key}"
            if self.roles.get("item") == column:
                del self.roles["item"]
        return found

    def guess(self) -> Guess:
        """Return the map by the first shape that fits."""
        if missing := [one for one in self.said if one not in self.columns]:
            named = show_line(missing[0], 60)
            problem = f'has no column "{named}" (its columns: {listed(self.columns)})'
            return _unsure(TableMap(), problem, "Name its columns as the file does.")
        if not self.given and {"truth", "reviewer", "item_hash"} <= {*self.columns}:
            problem = "is a labels file, not a report"
            return Guess(TableMap(), (), False, problem, self.read_labels, elsewhere=True)
        if self.given and "judge" not in self.roles:
            options = self.options
            return Guess(self.wide(options.judge_columns, options.criteria_columns), self.given)
        if self.options.judge_columns:
            named = show_line(self.roles["judge"], 60)
            problem = f'has a column "{named}" with a judge in each row'
            return _unsure(TableMap(), problem, f"Open it as it is: reviewdesk open {self.command}")
        if "judge" in self.roles or "dimension" in self.roles:
            self.item = self.item or self.roles.get("input", "")
            return self.long()
        for column, cell in self.sample[0].cells.items() if self.sample else ():
            if column != "^" and (rule := _held(parsed(cell), column)):
                rule = self.of_all(rule, column)
                rules = rule.get("ballots") or [rule]
                places = [one.get("each") or one.get("score") or column for one in rules]
                made = _map({**self.made, "item": self.item, **rule})
                problem = f"has the answers of judges inside {listed(places)}"
                return _unsure(made, problem, self.see, *places)
        return self.by_cells()

    def of_all(self, rule: JsonObject, column: str) -> JsonObject:
        """Return the rule for every column with an answer of one shape, such as ``judge_2``."""
        if rule.get("judge") != f"={column}":
            return rule
        held = {one: _held(parsed(cell), one) for one, cell in self.sample[0].cells.items()}
        alike = [one for one, found in held.items() if found and found.get("judge") == f"={one}"]
        if len(alike) < 2:
            return rule
        said = {role: path.replace(column, "*", 1) for role, path in rule.items()}
        # The answer of a column is its score, which may be a word.
        said.setdefault("score", said.pop("pass", "") or said.get("label", ""))
        return {**said, "judge": "=*", "columns": alike}

    def long(self) -> Guess:
        """Return the map of a table with a judge or a question in each row."""
        roles = self.roles
        made = dict(self.made)
        made |= {"item": self.item, "judge": roles.get("judge", roles.get("dimension", ""))}
        if not {*_ANSWERS, "error"} & roles.keys() and not self.options.criteria_columns:
            return self.unnamed(made)
        made |= {
            "epoch" if role == "repeat" else role: roles[role] for role in BALLOT & roles.keys()
        }
        made["score"] = roles.get("score", "score")
        if "model" in made["judge"].lower():
            made["model"] = roles.get("judge", "")
        if "dimension" in roles:
            made["dimension"] = roles["dimension"]
        if "decision" in made and made.get("pass") == made["decision"]:
            del made["decision"]
        if not self.options.pass_labels and (words := self.words([made["score"]])):
            return self.ask_words(_map({**made, "words": words}), [made["score"]], self.command)
        if not self.item:
            problem = f"has no column that names the items (its columns: {listed(self.columns)})"
            hint = f"Say which it is: reviewdesk open {self.command} --item-column NAME"
            return _unsure(_map(made), problem, hint)
        return Guess(_map(made))

    def unnamed(self, made: JsonObject) -> Guess:
        """Return the map of a table of judges whose answers are under other names."""
        known = {*self.roles.values(), self.item}
        rest = [one for one in self.columns if one not in known and self.answers(one)]
        if not rest:
            problem = (
                f"has no column with what the judges said (its columns: {listed(self.columns)})"
            )
            hint = f"Say in a map what its columns hold: reviewdesk map {self.command}"
            return _unsure(_map(made), problem, hint)
        if len(rest) == 1:
            self.roles["score"] = rest[0]
            problem = f'may say in the column "{show_line(rest[0], 60)}" what the judges said'
            return _unsure(self.long().made, problem, self.see, rest[0])
        # Without a column of items, each column is an item.
        problem = f"has a column for each {'question' if self.item else 'item'}: {listed(rest)}"
        rule = {**self.columns_rule(rest), "dimension": "=*"}
        made |= {"item": self.item or "=table", "ballots": [rule]}
        return _unsure(_map(made), problem, self.see, *rest)

    def wide(self, judges: Sequence[str], criteria: Sequence[str]) -> TableMap:
        """Return the map of a table with a column for each judge or question."""
        made = {**self.made, "item": self.item}
        if "pass" in self.roles:
            # With a column for each judge, the row's single outcome is the panel's decision.
            made.setdefault("decision", self.roles["pass"])
        if "model" in self.roles:
            # With several judges in a row, the row's single model wrote the output.
            made.setdefault("generator", self.roles["model"])
        if "repeat" in self.roles:
            made["epoch"] = self.roles["repeat"]
        made["ballots"] = [self.columns_rule(judges)] if judges else []
        if criteria:
            made["ballots"].append({**self.columns_rule(criteria), "dimension": "=*"})
        return _map(made)

    def columns_rule(self, named: Sequence[str]) -> JsonObject:
        """Return the rule of a wide table for columns, with the columns that belong to them."""
        start, end = _frame(named)
        stems = [one[len(start) : len(one) - len(end)] for one in named]
        known = {column.casefold(): column for column in self.columns}

        def beside(words: Sequence[str], suffix: str | None = None) -> str:
            frames = [(start, suffix), (start, f"{end}{suffix}")] if suffix else []
            for word in words:
                for mark in _BETWEEN:
                    frames += [(start, f"{mark}{word}"), (start, f"{end}{mark}{word}")]
                    frames.append((f"{word}{mark}", ""))
            found = {
                f"{known[name][: len(first)]}*{known[name][len(first) + len(stem) :]}": None
                for first, last in frames
                for stem in stems
                if (name := f"{first}{stem}{last}".casefold()) in known
            }
            return "|".join(found)

        rule: JsonObject = {"columns": stems, "score": f"{start}*{end}"}
        if why := beside(REASONS, self.options.reason_suffix):
            rule["reason"] = why
        elif len(named) == 1 and "reason" in self.roles:
            rule["reason"] = self.roles["reason"]
        if failed := beside(_ERRORS):
            rule["error"] = failed
        if (passed := beside(_VOTES)) and passed != rule["score"]:
            rule["pass"] = passed
        return rule

    def by_cells(self) -> Guess:
        """Return the map of a table without a column of judges' names, by its cells' content."""
        known = {column for role, column in self.roles.items() if role not in {"score", "label"}}
        free = [one for one in self.columns if one not in {*known, self.item} and "," not in one]
        free = [one for one in free if not _NO_SCORE.search(one)]
        answers = [one for one in free if self.answers(one)]
        # A judge's score and its vote in words are one answer, and the first counts as its name.
        judges = [*{_stem(one): one for one in reversed(answers)}.values()][::-1]
        if not judges and "pass" in self.roles and self.answers(self.roles["pass"]):
            judges = [self.roles.pop("pass")]
            self.made.pop("decision", None)
        criteria = [one for one in judges if is_criterion(_stem(one).rpartition(".")[2])]
        asked = bool(judges) and criteria == judges
        made = self.wide(() if asked else judges, judges if asked else ())
        # The export of a queue has a column of comments for each reviewer.
        people = [one.removesuffix(_COMMENT) for one in self.columns if one.endswith(_COMMENT)]
        if people:
            problem = f"is a table of the labels of people ({show_line(', '.join(people), 60)})"
            return Guess(made, (), False, problem, self.read_labels, elsewhere=True)
        if judges and (asked or all(map(_SURE.search, judges))):
            return Guess(made, tuple(judges))
        if self.twice.intersection(free):
            problem = f"names a column twice: {listed(sorted(self.twice.intersection(free)))}"
            return _unsure(made, problem, "Give each column a name of its own.")
        worded = [] if judges else [one for one in free if self.has_words(one)]
        if worded and (words := self.words(worded)):
            options = f"{self.command} --judge-columns {shlex.quote(','.join(worded))}"
            self.made["words"] = words
            return self.ask_words(self.wide(worded, ()), worded, options)
        if not judges and "human" in self.roles:
            problem = "is a labels file, not a report"
            return Guess(made, (), False, problem, self.read_labels, elsewhere=True)
        problem = f"has no column that names the judge (its columns: {listed(self.columns)})"
        if not judges:
            hint = f"Say in a map what its columns hold: reviewdesk map {self.command}"
            return _unsure(made, problem, hint)
        hint = "Name the columns that hold one judge's scores each, or with --criteria-columns"
        hint += f" those that ask different questions: reviewdesk open {self.command}"
        hint += f" --judge-columns {show_line(shlex.quote(','.join(judges)), 300)}"
        return _unsure(made, problem, hint, *judges)

    def cells(self, column: str) -> list[Any]:
        return [one for row in self.sample if not is_missing(one := row.cells.get(column))]

    def answers(self, column: str) -> bool:
        """Return True if a column holds numbers, votes or marks, as judges' answers do.

        Fewer than half of them may be other words, or the reasons why a judge failed.
        """
        filled = [with_decimal_point(cell) for cell in self.cells(column)]
        rest = [cell for cell in filled if not _is_answer(cell)]
        words = all(is_word(cell) or stated_error(cell) for cell in rest)
        return bool(filled) and words and 2 * len(rest) < len(filled)

    def counts_rows(self, column: str) -> bool:
        """Return True if a column, whatever its name, holds the numbers of at least three rows."""
        filled = [likely_number(one) for one in self.cells(column)]
        counted = any(filled == [*range(start, start + len(filled))] for start in (0, 1))
        return counted and len(filled) > 2 and column not in self.said

    def has_words(self, column: str) -> bool:
        """Return True if a column holds only a few words, which are not votes."""
        filled = self.cells(column)
        few = 0 < len(set(map(str, filled))) <= min(_MOST_WORDS, max(1, len(filled) - 1))
        return few and all(map(is_word, filled)) and not all(map(_is_answer, filled))

    def words(self, columns: Sequence[str]) -> dict[str, list[str]]:
        """Return the words of columns under pass and fail, if their meaning is unknown."""
        if not all(map(self.has_words, columns)):
            return {}
        found = sorted({cell for one in columns for cell in self.cells(one)})
        if not 1 < len(found) <= _MOST_WORDS:
            return {}
        found = [word for word in found if not _NEITHER.search(word)]
        fails = [word for word in found if _FAILS.match(word)] or found[1:]
        return {"pass": [word for word in found if word not in fails], "fail": fails}

    def ask_words(self, made: TableMap, columns: Sequence[str], command: str) -> Guess:
        """Return a guess whose hint is the command that states the meaning of the words."""
        words = made.words
        options = [f"--{key}-label {shlex.quote(one)}" for key in words for one in words[key]]
        shown = ", ".join(show_line(one, 40) for key in words for one in words[key])
        problem = f"has words that are not known to pass or fail: {shown}"
        hint = f"Say what they mean: reviewdesk open {command} {show_line(' '.join(options), 300)}"
        return _unsure(made, problem, hint, *columns)


def _unsure(made: TableMap, problem: str, hint: str, *judges: str) -> Guess:
    return Guess(made, judges, False, problem, hint)


def _map(made: Cells) -> TableMap:
    return convert(made, TableMap)


def _held(held: Any, path: str, depth: int = 2) -> JsonObject | None:
    """Return the rule for the value at a path, if it holds answers at any depth."""
    named = isinstance(held, dict)
    elements = [*held.values()] if isinstance(held, dict) else held
    if not isinstance(elements, list) or not elements:
        return None
    rule: JsonObject = {"each": path, "judge": "@key"}
    if named and any(map(is_criterion, held)):
        rule["dimension"] = "@key"
    if all(map(_is_answer, elements)):
        return {**rule, "score": "@value"}
    objects = all(isinstance(one, dict) for one in elements)
    if objects and (found := _of_elements(elements, rule, named=named)):
        return found
    if not named:
        return None
    if objects and all(one and all(map(_is_answer, one.values())) for one in elements):
        of_key = {"judge": "@key", "score": "@value"}
        each = ({"each": f"{path}.{key}", "dimension": f"={key}", **of_key} for key in held)
        return {"ballots": [*each]}
    roles = roles_of(held)
    if not roles.keys().isdisjoint(_ANSWERS) and not any(
        isinstance(one, dict | list) for one in elements
    ):
        kept = ("judge", *_ANSWERS, "reason", "error")
        said = {role: f"{path}.{roles[role]}" for role in kept if role in roles}
        return {"judge": f"={path}", **said}
    deeper = (_held(parsed(one), f"{path}.{key}", depth - 1) for key, one in held.items() if depth)
    return next(filter(None, deeper), None)


def _of_elements(elements: Sequence[Cells], rule: Cells, *, named: bool) -> JsonObject | None:
    """Return the rule for objects that each hold an answer and, unless named, a judge."""
    roles = roles_of(key for one in elements for key in one)
    called = [roles[role] for role in ("judge", "model", "generator") if role in roles]
    called += [roles["dimension"]] if "dimension" in roles else []
    judge = next((key for key in (*called[:1], "name", *called) if key in elements[0]), "")
    if roles.keys().isdisjoint(_ANSWERS) or not (named or judge):
        return None
    said = (*_ANSWERS, "reason", "error", "dimension")
    kept = {role: roles[role] for role in said if role in roles}
    return {**rule, "judge": "@key" if named else judge, **kept}


def _frame(named: Sequence[str]) -> tuple[str, str]:
    """Return the common prefix and suffix of all judges' columns, such as ``_score``."""
    before = _BEFORE.match(named[0])
    start = before[0] if before and all(one.startswith(before[0]) for one in named) else ""
    behind = _BEHIND.search(named[0])
    end = behind[0] if behind and all(one.endswith(behind[0]) for one in named) else ""
    if any(len(one) <= len(start) + len(end) for one in named):
        return "", ""
    return start, end


def _stem(column: str) -> str:
    """Return the name of a judge or a question from the name of its column."""
    start, end = _frame([column])
    return column[len(start) : len(column) - len(end)]


def _is_answer(cell: Any) -> bool:
    return (
        likely_number(cell) is not None
        or part_of_whole(cell) is not None
        or DecidingWords(ReadOptions()).vote(cell) is not None
    )
