"""Make a map of a plain table from the names of its columns and a person's options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

from msgspec import Struct, convert
from msgspec.structs import replace

from reviewdesk.domain.safetext import show_line
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.tables.cells import (
    BALLOT,
    FACTS,
    NOT_FINITE,
    REASONS,
    Cells,
    DecidingWords,
    is_answer,
    is_criterion,
    is_word,
    likely_number,
    name,
    roles_of,
    stated_error,
    with_decimal_point,
)
from reviewdesk.reports.tables.nested import ANSWERS, JUDGE, NO_SCORE, SURE, TableSample, of_people
from reviewdesk.reports.tables.rows import TOTALS, Layout, TableRow
from reviewdesk.reports.tables.table_map import TableMap, at_path
from reviewdesk.reports.wording import JsonObject

_MOST_LISTED = 20
_MOST_WORDS = 6
_MARKS = (
    "score|rating|grade|verdict|vote|value|label|pass|result|is_correct|judge?ment|bewertung"
    "|urteil|note|nota|punkte|puntuación"
)
_BEFORE = re.compile(rf"(?:{_MARKS})s?[\s_.:/-](?=\w)", re.IGNORECASE)
_BEHIND = re.compile(rf"[\s_.:/-]\(?(?:{_MARKS})\)?\Z", re.IGNORECASE)
"""The prefix or suffix that columns of scores add to the names of their judges."""
_ERRORS = ("error", "error_message")
_CERTAIN = ("confidence", "conf", "certainty")
_VOTES = ("pass", "passed", "verdict", "vote", "label", "result")
_BETWEEN = ("_", " ", ".", ":", "-", "/")
_FAILS = re.compile(
    r"(?:(?:strongly|very|somewhat|rather|slightly|completely) )?"
    r"(?:(?:un|in|irr|not?|non|dis)[ _-]?\w{3}|bad|poor|wrong|negative|weak|low|harm|down|[d-f]$)",
    re.IGNORECASE,
)
"""Words that more likely mean a fail than a pass."""
_NEITHER = re.compile(
    r"neutral|neither|mixed|partial|maybe|medium|moderate|fair$|average|unsure|unclear|tie$",
    re.IGNORECASE,
)
"""Words for an answer between pass and fail."""
_TEXTS = {
    "reference": re.compile(r"expected|reference|ground.?truth|gold|ideal|erwartet", re.IGNORECASE),
    "output": re.compile(
        r"answer|response|resps|output|reply|completion|generated|decoded|summary|translation|hypothesis"
        r"|antwort|réponse|respuesta",
        re.IGNORECASE,
    ),
    "input": re.compile(
        r"question|prompt|query|instruction|input|message|article|document|frage|pregunta",
        re.IGNORECASE,
    ),
}
"""Words in the names of columns of texts."""
_INNER = frozenset({"item", "input", "output", "reference"})
_HOLDERS = re.compile(
    r"(?:inputs?|outputs?|data|meta(?:data)?|example|case|row|sample|record|task|answer)[.:/]",
    re.IGNORECASE,
)
"""The start of a column's name that only says where a fact was."""
_TASKS = frozenset({"doc", "example", "datasource_item", "dataset_item", "task", "input", "inputs"})
"""Objects that hold a question and its known answer."""
_PEOPLE = re.compile(
    r"(?:^|[_ .:/])(?:e-?mail(?:[ _]address)?|user_?name|assessor|labell?er"
    r"|(?:worker|respondent|participant|annotator)[ _]?(?:id)?)$",
    re.IGNORECASE,
)
"""Columns that name the person of a row, if several rows are about one item."""
_PARTS = ("generator", "model", "subject", "turn", "round", "variant", "system", "condition", "run")
"""Roles and columns that tell apart the rows of one item and judge."""
_HUMAN = re.compile(r"^(?:human|expert|gold|manual)[ _-]|[ _(-]human\)?$", re.IGNORECASE)
_RATER = re.compile(
    r"(?:annotator|reviewer|labell?er|rater|expert|human)[ _-]?(?:\d+|[a-z])$", re.IGNORECASE
)
"""Columns of people, if others are those of judges."""
_PAIR = ("chosen", "rejected")
"""The columns of two responses, of which the first one is known to be the better."""
_FIRST = {
    "pass": ["A", "chosen", "model_a", "response_a", "assistant_a", "left", "first"],
    "fail": ["B", "rejected", "model_b", "response_b", "assistant_b", "right", "second"],
}
"""The words for the better one of two responses."""
_RANGE = re.compile(r"\((\d+) ?(?:-|–|to|\.\.) ?(\d+)\)|(?:/|out of) ?(\d+)\)?\Z")
"""The scale in the name of a column, such as ``(1-5)`` or ``/10``."""
_LIKERT = re.compile(
    r"(?:(?:strongly|somewhat|completely|slightly) )?(?:dis)?agree$|neither |neutral|undecided",
    re.IGNORECASE,
)
_SHORT = 60
_COMMENT = ".comment"
_OF_ITEM = re.compile(r"decision|final|overall|consensus|majority", re.IGNORECASE)
"""Columns of an outcome that may be the item's, not that of a question."""
_LIKELY = re.compile(
    rf"{SURE.pattern}|scor|eval|rat(?:ing|er)|vote|verdict|annot|jury", re.IGNORECASE
)
"""Columns that more likely than others hold the answers of judges."""
_OF_PEOPLE = frozenset({"annotation_id", "annotator", "lead_time"})
"""The columns of Label Studio's tables, in which people alone answer."""


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


class Guesser(TableSample):
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
        free = [one for one in self.columns if one not in self.said]
        judged = any(JUDGE.search(one) and not _RATER.match(one) for one in self.columns)
        judged = judged or bool(options.judge_columns)
        self.people = [one for one in free if _HUMAN.search(one) or (judged and _RATER.match(one))]
        filled = roles_of(one for one in free if self.cells(one) or not sample)
        empty = roles_of(one for one in free if one not in filled.values())
        self.roles = empty | filled
        self.find_texts(free)
        self.roles |= self.inner_roles()
        self.roles = self.outer_roles() | self.roles
        if "@key" in self.columns and "judge" not in self.roles:
            keys = [str(row.cells["@key"]) for row in sample]
            if len({*keys}) < len(keys) or all(map(JUDGE.search, keys)):
                self.roles["judge"] = "@key"
                if self.roles.get("item") == "@key":
                    del self.roles["item"]
        if "item" in self.roles and self.recurs([self.roles["item"]]):
            people = (one for one in self.columns if _PEOPLE.search(one))
            if person := next(people, ""):
                self.roles.setdefault("judge", person)
        if not {"judge", "dimension"} & self.roles.keys() and not self.given:
            self.find_judges()
        self.find_human()
        self.made: JsonObject = {
            role: self.roles[role]
            for role in (*FACTS, "rubric", "human", "human_by", "human_at")
            if role in self.roles
        }
        if options.output_column:
            self.made["output"] = options.output_column
        if {"alternative", "rival"} & self.made.keys():
            self.made |= {"rubric": "=Is response A the better one?"} | self.made
            self.made["words"] = _FIRST
        self.item = options.item_column or self.roles.get("item") or ""

    def find_texts(self, free: Sequence[str]) -> None:
        """Find texts by a word in the names of columns, and scores under the name of reasons."""
        for role, words in _TEXTS.items():
            taken = {*self.roles.values()}
            likely = [one for one in free if one not in taken and words.search(one)]
            likely = [one for one in likely if not NO_SCORE.search(one) and not _BEHIND.search(one)]
            found = next(filter(self.is_text, likely), "")
            if found and self.roles.get(role, "text") in {"text", "Text"}:
                if role in self.roles:
                    # A summary or a translation of the text is the output.
                    self.roles.setdefault("input", self.roles[role])
                self.roles[role] = found
        why = self.roles.get("reason", "")
        scores = self.cells(why) if "score" not in self.roles else []
        if scores and all(likely_number(one) is not None for one in scores):
            self.roles = roles_of(one for one in free if one != why) | {"score": why}

    def find_judges(self) -> None:
        """Find the column that names the judge or the question of each row, whatever its name."""
        item = self.roles.get("item", "")
        for column in self.columns:
            cells = [one for one in self.cells(column) if isinstance(one, str)]
            several = 1 < len({*cells}) < len(cells) == len(self.sample) and column != item
            scored = self.roles.get("test") == column and "score" in self.roles
            if several and (all(map(JUDGE.search, cells)) or (scored and self.recurs([item]))):
                role = "dimension" if any(map(is_criterion, cells)) else "judge"
                self.roles = {key: one for key, one in self.roles.items() if one != column}
                self.roles[role] = column
                return

    def find_human(self) -> None:
        """Find the column of a person's labels; one that holds only names is none."""
        words = DecidingWords(self.options)
        named = self.roles.get("human", "")
        said = self.cells(named) if named.casefold().strip() in {"reviewer", "expert"} else []
        if said and not any(map(words.human, said)):
            del self.roles["human"]
        labels = [
            one for one in self.people if (held := self.cells(one)) and all(map(words.human, held))
        ]
        self.people_rule: list[JsonObject] = []
        if len(labels) > 1 and not named:
            self.people_rule = [{"columns": labels, "as": "person", "label": "*", "by": "=*"}]
        elif labels and not named:
            self.roles["human"] = labels[0]

    def outer_roles(self) -> dict[str, str]:
        """Return the id and the input that are in the object around a row."""
        around = self.sample[0].cells.get("^", {}) if self.sample else {}
        roles = roles_of(around)
        named = [role for role in ("item", "input") if isinstance(around.get(roles.get(role)), str)]
        return {role: f"^.{roles[role]}" for role in named}

    def inner_roles(self) -> dict[str, str]:
        """Return the facts on an item that are inside objects, such as ``sample.id``.

        An object under the name of a fact is that fact only if none of its keys is.
        """
        found: dict[str, str] = {}
        known = {*self.roles.values()}
        row = self.sample[0].cells if self.sample else {}
        for column in self.columns:
            held = row.get(column)
            if place := _HOLDERS.match(column):
                for role in roles_of([column[place.end() :]]).keys() & _INNER:
                    if role not in self.roles:
                        found.setdefault(role, column)
            single = isinstance(held, list) and len(held) == 1
            texts: Any = held[0] if isinstance(held, list) and single else held
            if single and isinstance(texts, str) and _TEXTS["output"].search(column):
                found.setdefault("output", f"{column}.0")
            if isinstance(texts, dict) and column != "^":
                self.add_inner(found, column, f"{column}.0" if single else column, texts)
            if isinstance(texts, dict) and self.roles.get("item") == column:
                del self.roles["item"]
                others = roles_of(one for one in self.columns if one not in {column, *known})
                if "item" in others:
                    self.roles["item"] = others["item"]
        return found

    def add_inner(self, found: dict[str, str], column: str, start: str, texts: JsonObject) -> None:
        """Add the facts that the object of a column holds."""
        for role, key in roles_of(texts).items():
            free = self.roles.get(role, column) == column and role not in found
            if role in _INNER and free and isinstance(texts[key], str | int):
                # What comes with a question is its known answer, not the one that was judged.
                known = role == "output" and column in _TASKS
                found["reference" if known else role] = f"{start}.{key}"

    def guess(self) -> Guess:
        if missing := [one for one in self.said if one not in self.columns]:
            named = show_line(missing[0], 60)
            problem = f'has no column "{named}" (its columns: {listed(self.columns)})'
            return _unsure(TableMap(), problem, "Name its columns as the file does.")
        if not self.given and {"truth", "reviewer", "item_hash"} <= {*self.columns}:
            problem = "is a labels file, not a report"
            return Guess(TableMap(), (), False, problem, self.read_labels, elsewhere=True)
        if self.given and "judge" not in self.roles:
            options = self.options
            self.item = self.item or self.first_column()
            return Guess(self.wide(options.judge_columns, options.criteria_columns), self.given)
        if self.options.judge_columns:
            named = show_line(self.roles["judge"], 60)
            problem = f'has a column "{named}" with a judge in each row'
            return _unsure(TableMap(), problem, f"Open it as it is: reviewdesk open {self.command}")
        if "judge" in self.roles or "dimension" in self.roles:
            self.item = self.item or self.roles.get("input", "") or self.grouping()
            return self.long()
        self.item = self.item or self.first_column()
        texts = self.made.get("input")
        nested = [one for one in self.columns if "." not in one and one != texts]
        for column in sorted(nested, key=lambda one: not _LIKELY.search(one)):
            if rule := self.held(column):
                return self.inner(self.of_all(rule, column), column)
        return self.by_cells()

    def inner(self, rule: JsonObject, column: str) -> Guess:
        """Return the map of a table with the answers of judges inside a column."""
        rules = rule.get("ballots") or [rule]
        places = [one.get("each") or one.get("score") or column for one in rules]
        made = {**self.made, "item": self.item, **rule}
        if column == made.get("output") and "score" in rule:
            del made["output"]  # it is the judge's answer
        asked = any("dimension" in one for one in rules)
        if more := self.of_row(made, asked):
            made = {key: path for key, path in made.items() if key not in rule}
            made["ballots"] = [*rules, *more]
        self.told_apart(made, ("epoch",))
        if words := self.words([self.at(one) for one in rules]):
            made["words"] = words
        shown = rule.get("columns") or [*map(_column_of, places)]
        problem = f"has the answers of judges inside {listed([*dict.fromkeys(shown)])}"
        return _unsure(_map(made), problem, self.see, *dict.fromkeys(map(_column_of, places)))

    def grouping(self) -> str:
        """Return the first column that recurs, but not for one judge: it may name the items."""
        judge = self.roles.get("judge", "")
        likely = (one for one in self.columns if one not in self.roles.values())
        likely = (one for one in likely if one == self.columns[0] or not self.answers(one))
        found = (one for one in likely if self.recurs([one]) and not self.recurs([one, judge]))
        return next(found, "") if judge else ""

    def first_column(self) -> str:
        """Return the first column, if it numbers or names the rows, else an empty text."""
        first = self.columns[0] if self.columns else ""
        taken = {column for role, column in self.roles.items() if role not in {"subject", "test"}}
        cells = self.cells(first)
        named = all(isinstance(one, str) and len(one) <= _SHORT for one in cells)
        whole = len(cells) == len({*map(str, cells)}) == len(self.sample) > 1
        names_rows = named and whole and not any(map(is_answer, cells))
        free = first not in taken and first not in self.said
        return first if free and (names_rows or self.counts_rows(first)) else ""

    def told_apart(
        self, made: JsonObject, keys: Sequence[str] = ("judge", "dimension", "epoch")
    ) -> None:
        """Add columns to the item's id if one judge rates rows of the same id."""
        said = [made[key] for key in ("item", *keys) if made.get(key)]
        if not made["item"] or not self.recurs(said):
            return
        named = {one.casefold(): one for one in self.columns}
        parts = [self.roles.get(one) or named.get(one, "") for one in _PARTS]
        parts = [one for one in dict.fromkeys(parts) if one and one not in said]
        more = next((one for one in parts if not self.recurs([*said, one])), "")
        chosen = [more] if more else parts
        if chosen and not self.recurs([*said, *chosen]):
            counted = chosen[0].casefold() == "run" and "output" not in made
            if counted and all(str(one).isdecimal() for one in self.cells(chosen[0])):
                made["epoch"] = chosen[0]
                return
            made["item"] = " + ".join([made["item"], *chosen])
            if made.get("model") in chosen:
                made["generator"] = made.pop("model")
        elif "judge" not in keys:
            # Rows of one id that nothing tells apart are items of their own.
            made |= {"title": made["item"], "item": ""}

    def long(self) -> Guess:
        roles = self.roles
        made = dict(self.made)
        made |= {"item": self.item, "judge": roles.get("judge", roles.get("dimension", ""))}
        if not {*ANSWERS, "error"} & roles.keys() and not self.options.criteria_columns:
            return self.unnamed(made)
        made |= {
            "epoch" if role == "repeat" else role: roles[role] for role in BALLOT & roles.keys()
        }
        made["score"] = roles.get("score", "score")
        for role in {*ANSWERS} & roles.keys():
            rule = self.held(roles[role])
            if rule and rule.get("judge") == f"={roles[role]}":
                made = {key: one for key, one in made.items() if key != role} | rule
            elif rule and "each" in rule:
                return self.inner(rule, roles[role])
        made["judge"] = roles.get("judge", roles.get("dimension", ""))
        if made["judge"] and all(isinstance(one, list) for one in self.cells(made["judge"])):
            made["judge"] += ".0"
        if "model" in made["judge"].lower():
            made["model"] = roles.get("judge", "")
        if "dimension" in roles:
            made["dimension"] = roles["dimension"]
        if "decision" in made and made.get("pass") == made["decision"]:
            del made["decision"]
        self.told_apart(made)
        if person := of_people([row.cells for row in self.sample]):
            made["ballots"] = [person, {}]
        return self.checked(made)

    def checked(self, made: JsonObject) -> Guess:
        """Return the map of a long table, or what a person must say of it first."""
        if not self.options.pass_labels and (words := self.words([self.cells(made["score"])])):
            return self.ask_words(_map({**made, "words": words}), [made["score"]], self.command)
        if not self.item:
            problem = f"has no column that names the items (its columns: {listed(self.columns)})"
            likely = next((one for one in self.columns if one.lower().endswith("id")), "NAME")
            hint = f"Say which it is: reviewdesk open {self.command} --item-column"
            hint += f" {shlex.quote(likely)}"
            return _unsure(_map(made), problem, hint)
        stated = made.get("pass") or made.get("decision", "")
        of_items = {
            (name(at_path(row.cells, self.item)), str(row.cells.get(stated))) for row in self.sample
        }
        once = len(of_items) == len({item for item, _ in of_items}) < len(self.sample)
        if "dimension" in made and _OF_ITEM.search(stated) and once:
            made = {key: path for key, path in made.items() if path != stated}
            problem = f'has in "{show_line(stated, 60)}" one decision for all criteria of an item'
            return _unsure(_map(made), f"{problem}, which is not read", self.see, made["score"])
        return Guess(_map(made))

    def unnamed(self, made: JsonObject) -> Guess:
        """Return the map of a table of judges whose answers are under other names."""
        known = {*self.roles.values(), self.item}
        rest = [one for one in self.columns if one not in known and self.answers(one)]
        rest = [one for one in rest if not NO_SCORE.search(one)]
        for column in self.columns if not rest else ():
            if (rule := self.held(column)) and rule.get("judge") == f"={column}":
                rest_of = {key: one for key, one in made.items() if one != column}
                made = {**rest_of, **rule, "judge": made["judge"]}
                problem = f"has the answers of judges inside {show_line(column, 60)}"
                return _unsure(_map(made), problem, self.see, column)
        named = {made["judge"], self.item, self.roles.get("dimension", "")}
        for column in self.columns if not rest and "score" not in self.roles else ():
            if column not in named and self.words([self.cells(column)]):
                self.roles["score"] = column
                return self.long()
        if rest and {*self.columns} >= _OF_PEOPLE:
            answer = {"columns": rest, "as": "person", "label": "*", "by": made["judge"]}
            asked = {"dimension": "=*"} if len(rest) > 1 else {}
            made = {key: path for key, path in made.items() if key != "judge"}
            return Guess(_map(made | {"ballots": [answer | asked]}), tuple(rest))
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
        made = {**self.made, "item": self.item}
        ranges = {_RANGE.search(one) for one in (*judges, *criteria)}
        scales = {(int(one[1] or 0), int(one[2] or one[3])) if one else None for one in ranges}
        if len(scales) == 1 and (scale := scales.pop()):
            made["scale"] = [*scale]
        if "repeat" in self.roles:
            made["epoch"] = self.roles["repeat"]
        made["ballots"] = [self.columns_rule(judges)] if judges else []
        if criteria:
            made["ballots"].append({**self.columns_rule(criteria), "dimension": "=*"})
        made["ballots"] += [*self.of_row(made, bool(criteria)), *self.people_rule]
        self.told_apart(made, ("epoch",))
        return _map(made)

    def of_row(self, made: JsonObject, asked: bool) -> list[JsonObject]:
        """Add the row's outcome and model to a map; return the rules that an outcome needs."""
        if "model" in self.roles:
            # With several judges in a row, the row's single model wrote the output.
            made.setdefault("generator", self.roles["model"])
        if "pass" in self.roles:
            # With several answers in a row, the row's single outcome is the panel's decision.
            made.setdefault("decision", self.roles["pass"])
        if not asked or "decision" not in made:
            return []
        # It decides on the item, and on none of the questions.
        rule = self.columns_rule([made.pop("decision")])
        return [{**rule, "dimension": "=*", "decision": rule["score"]}]

    def columns_rule(self, named: Sequence[str]) -> JsonObject:
        """Return the rule of a wide table for columns, with the columns that belong to them."""
        start, end = _frame(named)
        stems = [one[len(start) : len(one) - len(end)] for one in named]
        known = {column.casefold(): column for column in self.columns}

        def beside(words: Sequence[str], suffix: str | None = None) -> str:
            frames = [(start, suffix), (start, f"{end}{suffix}")] if suffix else []
            for word in words:
                frames.append((start, f" ({word})"))
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
        elif len(named) == 1:
            whys = [one for one in self.columns if one.casefold().endswith(REASONS)]
            whys = [one for one in whys if one not in self.people]
            if "reason" in self.roles or len(whys) == 1:
                rule["reason"] = self.roles.get("reason", whys[0] if whys else "")
            if "pass" in self.roles and self.roles["pass"] not in named:
                rule["pass"] = self.roles["pass"]
        more = {"error": _ERRORS, "confidence": _CERTAIN, "pass": _VOTES}
        found = {role: beside(words) for role, words in more.items()}
        return rule | {role: one for role, one in found.items() if one not in {"", rule["score"]}}

    def answering(self) -> tuple[list[str], list[str]]:
        """Return the columns of no other use, and those of them that hold answers."""
        known = {column for role, column in self.roles.items() if role not in {"score", "label"}}
        free = [one for one in self.columns if one not in {*known, self.item} and "," not in one]
        free = [one for one in free if not NO_SCORE.search(one)]
        # How sure each judge is of its answer stands beside the answer.
        sure = [one for one in free if one.casefold().endswith(_CERTAIN)]
        free = [one for one in free if one not in sure] or free
        if (self.roles.get("output"), self.roles.get("alternative")) == _PAIR:
            free = [one for one in free if _stem(one) not in _PAIR]
        people = [one for one in free if one in self.people or one.strip().lower() in TOTALS]
        free = [one for one in free if one not in people or is_criterion(one)] or people
        answers = [
            one
            for one in free
            if self.answers(one) or (is_criterion(one) and self.has_words(self.cells(one)))
        ]
        # A judge's score and its vote in words are one answer, and the first counts as its name.
        found: dict[str, str] = {}
        for one in sorted(answers, key=lambda one: "score" not in one.casefold()):
            found.setdefault(_stem(one), one)
        judges = [one for one in answers if one in found.values()]
        for role in ("pass", "status", "label"):
            if not judges and role in self.roles and self.answers(self.roles[role]):
                judges = [self.roles.pop(role)]
                self.made.pop("decision", None)
        return free, judges

    def by_cells(self) -> Guess:
        """Return the map of a table without a column of judges' names, by its cells' content."""
        free, judges = self.answering()
        criteria = [one for one in judges if is_criterion(_stem(one).rpartition(".")[2])]
        asked = bool(judges) and criteria == judges
        made = self.wide(() if asked else judges, judges if asked else ())
        # The export of a queue has a column of comments for each reviewer.
        people = [one.removesuffix(_COMMENT) for one in self.columns if one.endswith(_COMMENT)]
        if people and "judge" not in self.roles:
            problem = f"is a table of the labels of people ({show_line(', '.join(people), 60)})"
            return Guess(made, (), False, problem, self.read_labels, elsewhere=True)
        if judges and (asked or all(map(SURE.search, judges))):
            return Guess(made, tuple(judges))
        if self.twice.intersection(free):
            problem = f"names a column twice: {listed(sorted(self.twice.intersection(free)))}"
            return _unsure(made, problem, "Give each column a name of its own.")
        worded = [] if judges else [one for one in free if self.has_words(self.cells(one))]
        marks = {str(cell) for one in worded for cell in self.cells(one)}
        ticks = {"pass": sorted(marks), "fail": []} if marks <= {"x", "X"} else None
        if worded and (words := ticks or self.words(list(map(self.cells, worded)))):
            options = f"{self.command} --judge-columns {shlex.quote(','.join(worded))}"
            self.made["words"] = words
            return self.ask_words(self.wide(worded, ()), worded, options)
        if not judges and "human" in self.roles:
            problem = "is a labels file, not a report"
            return Guess(made, (), False, problem, self.read_labels, elsewhere=True)
        problem = f"has no column that names the judge (its columns: {listed(self.columns)})"
        if not judges and (self.roles.get("output"), self.roles.get("alternative")) == _PAIR:
            return Guess(replace(made, as_="person", label="=pass"), _PAIR)
        if not judges:
            hint = f"Say in a map what its columns hold: reviewdesk map {self.command}"
            return _unsure(made, problem, hint)
        hint = "Name the columns that hold one judge's scores each, or with --criteria-columns"
        hint += f" those that ask different questions: reviewdesk open {self.command}"
        hint += f" --judge-columns {show_line(shlex.quote(','.join(judges)), 300)}"
        return _unsure(made, problem, hint, *judges)

    def answers(self, column: str) -> bool:
        """Return True if a column holds numbers, votes or marks, as judges' answers do.

        Fewer than half of them may be other words, or the reasons why a judge failed.
        """
        filled = [with_decimal_point(cell) for cell in self.cells(column)]
        rest = [one for one in filled if not (is_answer(one) or str(one).lower() in NOT_FINITE)]
        words = all(is_word(cell) or stated_error(cell) for cell in rest)
        return bool(filled) and words and 2 * len(rest) < len(filled)

    def is_text(self, column: str) -> bool:
        cells = self.cells(column)
        texts = bool(cells) and all(isinstance(one, str) for one in cells)
        return texts and not any(map(is_answer, cells)) and not self.has_words(cells)

    def counts_rows(self, column: str) -> bool:
        """Return True if a column, whatever its name, holds the numbers of at least three rows."""
        filled = [likely_number(one) for one in self.cells(column)]
        counted = any(filled == [*range(start, start + len(filled))] for start in (0, 1))
        return counted and len(filled) > 2 and column not in self.said

    def has_words(self, filled: Sequence[Any]) -> bool:
        """Return True if cells hold only a few words, which are not votes."""
        found = {*map(str, filled)}
        few = len(found) <= max(1, len(filled) - 1) or all(map(_LIKERT.match, found))
        words = bool(found) and all(map(is_word, filled)) and not all(map(is_answer, filled))
        return words and few and len(found) <= _MOST_WORDS

    def words(self, columns: Sequence[Sequence[Any]]) -> dict[str, list[str]]:
        """Return the words of some columns' cells as pass and fail, if their meaning is unknown."""
        if not all(map(self.has_words, columns)):
            return {}
        found = sorted({cell for one in columns for cell in one})
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


def _frame(named: Sequence[str]) -> tuple[str, str]:
    """Return the common prefix and suffix of all judges' columns, such as ``_score``."""
    before = _BEFORE.match(named[0])
    start = before[0] if before and all(one.startswith(before[0]) for one in named) else ""
    behind = _BEHIND.search(named[0])
    end = behind[0] if behind and all(one.endswith(behind[0]) for one in named) else ""
    if any(len(one) <= len(start) + len(end) for one in named):
        return "", ""
    return start, end


def _column_of(path: str) -> str:
    return re.split(r"\.\*|\|| \+ ", path)[0]


def _stem(column: str) -> str:
    start, end = _frame([column])
    return column[len(start) : len(column) - len(end)]
