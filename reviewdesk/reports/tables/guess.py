"""Make a map of a plain table from the names of its columns and a person's options."""

import re
import shlex
from collections.abc import Sequence
from itertools import chain
from os.path import commonprefix

from msgspec import Struct, convert
from msgspec.structs import replace

from reviewdesk.domain.safetext import show_line
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.tables.cells import (
    BALLOT,
    FACTS,
    USUAL,
    Cells,
    is_computed,
    is_criterion,
    likely_number,
    name,
    roles_of,
    usual_scale,
)
from reviewdesk.reports.tables.nested import (
    ANSWERS,
    JUDGE,
    NO_SCORE,
    SUMS,
    SURE,
    highest_of,
    name_path,
    of_crowd,
    of_people,
    rules_of,
)
from reviewdesk.reports.tables.roles import MARKED, OF_ITEM, TEXTS, frame_of, stem_of
from reviewdesk.reports.tables.rows import Layout, TableRow
from reviewdesk.reports.tables.shapes import AGAIN, SURENESS, TableShapes, are_sure
from reviewdesk.reports.tables.table_map import TableMap, at_path
from reviewdesk.reports.wording import JsonObject

_MOST_LISTED = 20
_PAIR = ("chosen", "rejected")
_FIRST = "A candidate chosen model_a response_a assistant_a left first A>B A>>B"
_SECOND = "B baseline rejected model_b response_b assistant_b right second 2 B>A B>>A"
"""The words for the better one of two responses."""
_COMMENT = ".comment"
_HIGH = 20  # a score above this is not one of 5 or 10
_LIKELY = re.compile(
    rf"{SURE.pattern}|scor|eval|rat(?:ing|er)|vote|verdict|annot|jury|judg|rubric|criteri",
    re.IGNORECASE,
)
_UNLIKELY = re.compile(
    r"meta|config|usage|argument|param|setting|info|timing|stat|version|context|input|expected|cost|token",
    re.IGNORECASE,
)
"""Columns of objects that hardly hold answers, if others do."""
_TEXTS = re.compile(r"\[\[+['\"]")
"""The start of the first of several cells that are lists of texts."""
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


class Guesser(TableShapes):
    """The known facts of a table whose map is guessed."""

    def __init__(
        self, layout: Layout, sample: list[TableRow], options: ReadOptions, file: str, given: str
    ) -> None:
        """Find the roles of the columns; hints name the file, with the options ``given``."""
        super().__init__(layout.columns, sample, options)
        self.file = file
        self.command = command = f"{file}{given}"
        self.document = layout.outline.keys if layout.outline and layout.key else {}
        """The values beside the list of rows; lists of texts are whole if they are short."""
        self.see = f"See how it would be read: reviewdesk map {command}"
        if file != "-":
            self.see = f"If this map is right: reviewdesk map {command} -o {file}.map.toml"
            self.see += f" && reviewdesk open {file}"
        self.write = f"Say in a map what its columns hold: reviewdesk map {command}"
        self.has = f"(its columns: {listed(self.columns)})"
        self.made = {
            role: self.roles[role]
            for role in (*FACTS, "rubric", "human", "human_by", "human_at")
            if role in self.roles
        }
        if len(self.sample) > 1 == len(self.said_in([self.made.get("test", "")])):
            del self.made["test"]  # all rows are of one test, whose name is no item's
        if options.output_column:
            self.made["output"] = options.output_column
        if {"alternative", "rival"} & self.made.keys():
            self.made |= {"rubric": "=Is response A the better one?"} | self.made
            words = {"pass": _FIRST.split(), "fail": _SECOND.split()}
            self.made["words"] = self.words_of_pair(words)
        if scale := options.scale or self.told_scale(self.document):
            self.made["scale"] = [*scale]
        self.item = options.item_column or self.roles.get("item") or ""
        self.checks: list[str] = []
        """Columns of numbers that programs computed, beside those of judges."""
        for one in self.columns if not {"decision", "pass"} & self.roles.keys() else ():
            said = SUMS.search(one) and OF_ITEM.search(one) and not NO_SCORE.search(one)
            if said and self.answers(one) and not any(map(likely_number, self.cells(one))):
                self.made["decision"] = one

    def guess(self) -> Guess:
        if not self.given and {"truth", "reviewer", "item_hash"} <= {*self.columns}:
            return self.labels()
        # The export of a queue has a column of comments for each reviewer.
        people = [one.removesuffix(_COMMENT) for one in self.columns if one.endswith(_COMMENT)]
        if people and not self.given and "judge" not in self.roles:
            return self.labels(
                f"is a table of the labels of people ({show_line(', '.join(people), 60)})"
            )
        named = self.options.judge_columns
        if len(named) == 1 and not self.answers(named[0]):
            self.roles["judge"] = named[0]  # it holds the names of judges
        elif named or (self.given and "judge" not in self.roles):
            options = self.options
            self.item = self.item or self.item_column()
            return Guess(self.wide(options.judge_columns, options.criteria_columns), self.given)
        if self.form:
            return self.long()
        asks = bool({"judge", "dimension"} & self.roles.keys())
        if asks and not (self.options.item_column or self.recurs([self.item])):
            # An id that each row has for itself is that of a vote, and no item's.
            self.item = next(filter(self.is_rated, self.ids(self.columns)), self.item)
        told = self.roles.get("input", "") if asks and not self.item else ""
        self.item = self.item or self.item_column()
        if not asks and "trace" in self.item and self.recurs([self.item]):
            # Several calls or spans of one trace are items of their own.
            own = [one for one in self.columns if one.endswith("id") and not self.recurs([one])]
            self.item = own[0] if own else self.item
        # An id names as many items as there are inputs.
        as_many = len(self.said_in([self.item])) == len(self.said_in([told]))
        self.item = self.item if self.item and (as_many or not told) else told
        if asks:
            return self.nested(asks) or self.long()
        return self.shaped() or self.nested(asks) or self.by_cells()

    def labels(self, problem: str = "is a labels file, not a report") -> Guess:
        hint = f"Read it with: reviewdesk labels import {self.file}"
        return Guess(TableMap(), (), False, problem, hint, elsewhere=True)

    def shaped(self) -> Guess | None:
        """Return the map of a table whose columns do not hold one answer of one judge each."""
        for problem, rules, columns in self.shapes(self.answering()[1]):
            made = {**self.made, "item": self.item, "ballots": rules}
            if "pass" in self.roles and self.roles["pass"] not in columns:
                made.setdefault("decision", self.roles["pass"])
            if any("output" in rule for rule in rules):
                kept = made.keys() - {"output", "alternative", "rubric", "words"}
                made = {key: one for key, one in made.items() if key in kept}
            return _unsure(_map(made), f"{problem}: {listed(columns)}", self.see, *columns)
        return None

    def nested(self, asks: bool) -> Guess | None:
        """Return the map of answers inside a column; a row that ``asks`` names its judge."""
        if asks and {*ANSWERS} & self.roles.keys():
            return None
        plain = bool(self.answering()[1])
        said = {self.made.get("input")}
        lists = (one for one in self.columns if _TEXTS.match(str(self.cells(one)[:1])))
        said |= {one for one in lists if TEXTS["output"].search(one) and not _LIKELY.search(one)}
        inner = [one for one in self.columns if not ("." in one or one in said)]
        for column in sorted(inner, key=lambda one: not _LIKELY.search(one)):
            unlikely = not _LIKELY.search(column) and (asks or _UNLIKELY.search(column))
            if not (plain and unlikely) and (rule := self.held(column)):
                return self.inner(self.of_all(rule, column), column)
        return None

    def inner(self, rule: JsonObject, column: str) -> Guess:
        """Return the map of a table with the answers of judges inside a column."""
        rules = [of_crowd(self.by_row(one)) for one in self.by_place(rule)]
        for one in rules:
            if one.get("as") == "person" and highest_of(self.at(one)) > 1:
                one["label"] = ""  # of a person's scores, 1 is no pass
        places = [one.get("each") or one.get("score") or column for one in rules]
        judge = self.judge_path() if "judge" in self.roles else ""
        # If each row is a judge, its columns are the items.
        item = self.item or ("=*" if judge and not self.recurs([judge]) else "")
        made = {**self.made, **self.stated(), "item": item}
        read = [str(path) for one in rules for path in one.values()]
        if column == made.get("output") and any(path.startswith(column) for path in read):
            del made["output"]  # it is the judge's answer
        more = self.of_row(made, rules)
        beside = [one for one in self.answering()[1] if JUDGE.search(one) or "model" in one]
        if beside and not any("dimension" in one for one in rules):
            more.append(self.columns_rule(beside))
            if JUDGE.search(column) and rules[0]["judge"] == "@key":
                # A list beside the columns of other judges holds one judge's repeats.
                rules[0] |= {"judge": f"={stem_of(column)}", "epoch": "@key"}
        made |= rules[0] if len(rules) == 1 and not more else {"ballots": [*rules, *more]}
        of_row = [one.get("judge", "=") for one in rules if not one.get("each")]
        said = [judge, *(one for one in of_row if not one.startswith("="))]
        self.told_apart(made, [*said, self.roles.get("dimension", "")])
        if words := self.words([self.at(one) for one in rules]):
            made["words"] = words
        shown = [*dict.fromkeys(re.split(r"\.\*|\|| \+ ", one)[0] for one in places)]
        who = "people" if all(one.get("as") == "person" for one in rules) else "judges"
        problem = f"has the answers of {who} inside {listed(rule.get('columns') or shown)}"
        return _unsure(_map(made), problem, self.see, *shown)

    def by_place(self, rule: JsonObject) -> list[JsonObject]:
        """Return a rule for each judge if the file names the judges of a list once, in order."""
        each = rule.get("each", "")
        lengths = {len(one) if isinstance(one, list) else 0 for one in self.cells(each)}
        for key, names in self.document.items() if rule.get("judge") == "@key" else ():
            listed = isinstance(names, list) and lengths == {len(names)}
            texts = listed and all(isinstance(one, str) for one in names)
            of_judges = {"judge", "model"} & roles_of([key.removesuffix("s")]).keys()
            if texts and (of_judges or all(map(JUDGE.search, names))):
                pairs = enumerate(names)
                return [
                    rule | {"where": {"@key": str(at)}, "judge": f"={one}"} for at, one in pairs
                ]
        return rules_of(rule)

    def by_row(self, rule: JsonObject) -> JsonObject:
        """Return a rule of answers inside a row, if columns name the row's judge or question."""
        each = rule.get("each", "")
        around = "^." * (1 + (".*" in each)) if each else ""
        own = rule.get("judge", "=*")
        unnamed = own in {"@key", "^.@key", rule.get("dimension")} or own.startswith("=")
        unnamed = unnamed or (not each and own == rule.get("model"))
        if unnamed and "judge" in self.roles:
            rule = rule | {"judge": around + self.judge_path()}
            if own in {"@key", "=*"} and "dimension" not in rule:
                numbered = any(isinstance(one["@key"], int) for one in self.inside(each))
                rule["epoch" if own == "@key" and numbered else "dimension"] = own
        return rule

    def long(self) -> Guess:
        roles = self.roles
        made = {**self.made, "item": self.item, "judge": self.judge_path()}
        of_people = {*self.columns} >= _OF_PEOPLE
        if of_people or not {*ANSWERS, "error"} & roles.keys():
            return self.unnamed(made)
        made |= {
            "epoch" if role == "repeat" else role: roles[role] for role in roles if role in BALLOT
        }
        made["score"] = roles.get("score", "score")
        if raw := self.raw.get(made["score"]):
            made["raw_score"] = raw
        for role in filter(roles.get, ANSWERS):
            rule = self.held(roles[role])
            if rule and rule.get("judge") == f"={roles[role]}":
                made = {key: one for key, one in made.items() if key != role} | rule
                made["judge"] = self.judge_path()
        if "model" in made["judge"].lower():
            made["model"] = made["judge"]
        if "dimension" in roles:
            made["dimension"] = roles["dimension"]
        apart = self.told_apart(made, [made["judge"], made.get("dimension", "")], wide=False)
        won = next((one for role in ANSWERS if self.names_winner(one := made.get(role, ""))), "")
        for role in ANSWERS if won else ():
            # The answers name the better one of two models.
            made[role] = won if role == "label" else ""
        rules = self.winners(won) if won else self.of_others(made["judge"])
        made |= {"ballots": rules} if rules else {}
        if apart:
            problem = f'has several rows for an item, which "{show_line(apart, 60)}" tells apart'
            return _unsure(_map(made), problem, self.see, made["score"])
        return self.checked(made)

    def of_others(self, judge: str) -> list[JsonObject]:
        """Return the rules if some rows are marked as those of persons, or sum up the others."""
        person = of_people([row.cells for row in self.sample])
        found = [{"by": judge, **person}] if person else []
        named = self.said_in([judge]) if judge in self.columns else set()
        sums = sorted(one for one in named if SUMS.search(one) and not is_criterion(one))
        if len(sums) < len(named) - 1:
            note = f"rows of {listed(sums)}, which sum up the judges, are not read"
            found += [{"where": {judge: sums}, "as": "nothing", "note": note}] if sums else []
        return [*found, {}] if found else []

    def judge_path(self) -> str:
        """Return the path of the judge's name."""
        column = self.roles.get("judge", self.roles.get("dimension", ""))
        return name_path({column: next(iter(self.cells(column)), None)}, column)

    def checked(self, made: JsonObject) -> Guess:
        """Return the map of a long table, or what a person must say of it first."""
        if self.likely_judge:
            who = "questions" if "dimension" in self.roles else "judges"
            problem = f'may name its {who} in the column "{show_line(self.likely_judge, 60)}"'
            return _unsure(_map(made), problem, self.see, made["score"])
        said = next((self.roles[role] for role in ANSWERS if role in self.roles), "")
        if not self.options.pass_labels and (words := self.words([self.cells(said)])):
            return self.ask_words(_map({**made, "words": words}), [said], self.command)
        if not self.item:
            problem = f"has no column that names the items {self.has}"
            likely = next((one for one in self.columns if one.lower().endswith("id")), "NAME")
            hint = f"Say which it is: reviewdesk open {self.command} --item-column"
            hint += f" {shlex.quote(likely)}"
            return _unsure(_map(made), problem, hint)
        stated = made.get("pass") or made.get("decision", "")
        of_items = {
            (name(at_path(row.cells, self.item)), str(row.cells.get(stated))) for row in self.sample
        }
        once = len(of_items) == len({item for item, _ in of_items}) < len(self.sample)
        if "dimension" in made and OF_ITEM.search(stated) and once:
            made = {key: path for key, path in made.items() if path != stated}
            problem = f'has in "{show_line(stated, 60)}" one decision for all criteria of an item'
            return _unsure(_map(made), f"{problem}, which is not read", self.see, made["score"])
        return Guess(_map(made))

    def unnamed(self, made: JsonObject) -> Guess:
        """Return the map of a table of judges whose answers are under other names."""
        known = {self.item, *(self.roles[one] for one in self.roles if one not in ANSWERS)}
        free = [one for one in self.columns if one not in known]
        rest = [one for one in free if not NO_SCORE.search(one) and self.answers(one)]
        if {*self.columns} >= _OF_PEOPLE:
            # Their votes are labels, and their ratings are not.
            rest = [one for one in rest if any(map(USUAL.human, self.cells(one)))]
            own = [one for one in rest if one not in self.judged]
            made["notes"] = [f"not read: {listed(self.judged)}"] if own and own != rest else []
            rest = own or rest
            answer = {"columns": rest, "as": "person", "label": "*", "by": made["judge"]}
            asked = {"dimension": "=*"} if len(rest) > 1 else {}
            made = {key: path for key, path in made.items() if key not in {"judge", *ANSWERS}}
            return Guess(_map(made | {"ballots": [answer | asked]}), tuple(rest))
        likely = [*free, self.roles.get("output", "")]
        for column in likely if not rest and "score" not in self.roles else ():
            if self.words([self.cells(column)]):
                self.roles["score"] = column
                return self.long()
        rest = [*self.options.criteria_columns] or rest or self.ranks()
        if not rest:
            problem = "has no column with what the judges said"
            return _unsure(_map(made), f"{problem} {self.has}", self.write)
        self.invert(rest)
        if len(rest) == 1:
            self.roles["score"] = rest[0]
            problem = f'may say in the column "{show_line(rest[0], 60)}" what the judges said'
            return _unsure(self.long().made, problem, self.see, rest[0])
        # Without a column of items, each column is an item.
        what = "question" if self.item else "item"
        what = what if "judge" in self.roles else "judge, and a row for each question"
        problem = f"has a column for each {what}: {listed(rest)}"
        again = all(map(AGAIN.match, rest))
        more = {"epoch": "=*"} if again else {"dimension": "=*"}
        if "judge" not in self.roles:
            # A row for each question has a column for each judge.
            more |= {"judge": "=*", "dimension": self.roles["dimension"]}
        rules = self.faults(rest, more) or [self.columns_rule(rest) | more]
        made = self.made | made | {"item": self.item or "=*", "ballots": rules}
        self.told_apart(made, [made["judge"]], wide=False)
        sure = Guess(_map(made), self.given)
        return sure if self.given else _unsure(sure.made, problem, self.see, *rest)

    def wide(self, judges: Sequence[str], criteria: Sequence[str]) -> TableMap:
        self.invert((*judges, *criteria))
        made = {**self.made, "item": self.item}
        made |= self.named_scale([*judges, *criteria])
        if "repeat" in self.roles:
            made["epoch"] = self.roles["repeat"]
        made["ballots"] = self.framed(judges)
        made["ballots"] += [{**rule, "dimension": "=*"} for rule in self.framed(criteria)]
        if faults := self.faults([*criteria] or judges, {"dimension": "=*"} if criteria else {}):
            made["ballots"] = faults
            made["notes"] = ["yes is read as a fail where a column asks for a fault"]
        made["ballots"] = ([] if self.given else self.grid(judges)) or made["ballots"]
        people = self.people_grid(made["ballots"]) or self.people_rule
        made["ballots"] += [*self.of_row(made, made["ballots"]), *people]
        if self.checks:
            asked = any("dimension" in rule for rule in made["ballots"])
            rule = {"dimension": "=*"} if asked else {"as": "check"}
            made["ballots"].append({"columns": self.checks, "score": "*", **rule})
        self.told_apart(made, ())
        return _map(made)

    def of_row(self, made: JsonObject, rules: Sequence[JsonObject]) -> list[JsonObject]:
        """Add the row's outcome and model to a map; return the rules that outcomes need."""
        if "model" in self.roles:
            # With several judges in a row, the row's single model wrote the output.
            made.setdefault("generator", self.roles["model"])
        if "pass" in self.roles:
            # With several answers in a row, the row's single outcome is the panel's decision.
            made.setdefault("decision", self.roles["pass"])
        if not any("dimension" in one for one in rules):
            return []
        # It decides on the item, and on none of the questions.
        decision = made.pop("decision", "")
        wide = any("columns" in one for one in rules)
        free = [one for one in self.columns if one not in self.roles.values() and not wide]
        stated = [decision] if decision not in ("", self.roles.get("status")) else []
        stated = [one for one in (*stated, *filter(OF_ITEM.search, free)) if self.answers(one)]
        found = {one: self.columns_rule([one]) | {"dimension": "=*"} for one in stated}
        if decision in found:
            found[decision]["decision"] = found[decision]["score"]
        return [*map(self.by_row, found.values())]

    def answering(self) -> tuple[list[str], list[str]]:
        """Return the columns of no other use, and those of them that hold answers."""
        known = {column for role, column in self.roles.items() if role not in {"score", "label"}}
        known |= {self.item, *(one for rule in self.counts() for one in rule["columns"])}
        free = [one for one in self.columns if one not in known and "," not in one]
        free = [one for one in free if not NO_SCORE.search(one) and one not in self.raw.values()]
        if (self.roles.get("output"), self.roles.get("alternative")) == _PAIR:
            free = [one for one in free if stem_of(one) not in _PAIR]
        sums = [one for one in free if one in self.people or SUMS.search(one)]
        rest = [one for one in free if one not in sums]
        asked = any(map(is_criterion, rest)) or not any(map(JUDGE.search, rest))
        free = [one for one in free if one in rest or (asked and is_criterion(one))] or sums

        def says(column: str) -> bool:
            words = is_criterion(column) and self.has_words(self.cells(column))
            return words or self.answers(column)

        answers = [*filter(says, free)] or [one for one in sums if asked and says(one)]
        answers = [one for one in answers if not one.casefold().endswith(SURENESS)] or answers
        # Beside columns such as eval.tone.score, others are facts on the row.
        framed = [one for one in answers if frame_of([one])[1][:1] in set("/.")]
        if len(framed) > 1:
            answers = [one for one in answers if one in framed or JUDGE.search(one)]
        # A judge's score and its vote in words are one answer, and the first counts as its name.
        found: dict[str, str] = {}
        for one in sorted(answers, key=lambda one: "score" not in one.casefold()):
            is_plain = one in map(self.roles.get, ("score", "label"))
            found.setdefault("" if is_plain else stem_of(one), one)
        judges = self.within([one for one in answers if one in found.values()])
        said = any(JUDGE.search(one) and not is_computed(one) for one in judges)
        self.checks = [one for one in judges if said and is_computed(one)]
        return free, [one for one in judges if one not in self.checks]

    def questions(self, judges: Sequence[str]) -> tuple[Sequence[str], bool]:
        """Return the columns that ask different questions, and if the names of all say so."""
        shared = commonprefix(judges) if len(judges) > 1 else ""  # noqa: RUF071 - of names
        start = max(map(shared.rfind, "/_.")) + 1
        known = [
            one
            for one in judges
            if not JUDGE.search(one[start:])
            and (is_criterion(stem_of(one[start:]).rpartition(".")[2]) or one.endswith("?"))
        ]
        rest = [one for one in judges if one not in known]
        kinds = [{likely_number(cell) is None for cell in self.cells(one)} for one in judges]
        tops = {(top > 1) + (top > _HIGH) for one in judges if (top := self.highest([one]))}
        apart = len(tops) > 1 and len(self.sample) > 3  # fewer rows do not tell scales apart
        apart |= {True} in kinds and {False} in kinds
        if apart and not any(map(JUDGE.search, judges)):
            # Judges of one question answer alike; several scales are for a map to state.
            return judges, len(tops) == 1 and bool(known) and not rest
        # Beside questions, columns are judges only if their names say so.
        asked = judges if known and not any(map(JUDGE.search, rest)) else known
        return asked, bool(known) and not rest

    def by_cells(self) -> Guess:
        """Return the map of a table without a column of judges' names, by its cells' content."""
        free, judges = self.answering()
        likely = ("pass", "status", "label")
        stated = [role for role in likely if self.answers(self.roles.get(role, ""))]
        if stated and not judges:
            judges = [self.roles.pop(stated[0])]
            self.made.pop("decision", None)
        ranks = [] if judges else self.ranks()
        judges = judges or ranks
        grid = self.grid(judges)
        asked, known = ([], False) if grid else self.questions(judges)
        made = self.wide([one for one in judges if one not in asked], asked)
        if judges and (known or (not (grid or asked) and are_sure(judges))):
            return self.settled(made, judges)
        worded = self.worded(free, judges)
        marks = self.said_in(worded)
        ticks = {"pass": sorted(marks), "fail": []} if marks <= {"x", "X"} else None
        if worded and (words := ticks or self.words(list(map(self.cells, worded)))):
            options = f"{self.command} --judge-columns {shlex.quote(','.join(worded))}"
            self.made["words"] = words
            return self.ask_words(self.wide(worded, ()), worded, options)
        if not judges and "human" in self.roles:
            return self.labels()
        mixed = bool(asked) and len(asked) < len(judges)
        if ranks or mixed:
            holds = "ranks" if ranks else "a column for each question"
            problem = f"has {holds}: {listed(ranks or asked)}"
            return _unsure(made, problem, self.see, *judges)
        problem = f"has no column that names the judge {self.has}"
        if not judges and (self.roles.get("output"), self.roles.get("alternative")) == _PAIR:
            return Guess(replace(made, as_="person", label="=pass"), _PAIR)
        if not judges:
            return _unsure(made, problem, self.write)
        if grid:
            asks = "question" if "dimension" in grid[0] else "run"
            problem = f"has a column for each judge and {asks}: {listed(judges)}"
            return _unsure(made, problem, self.see, *judges)
        return _unsure(made, problem, self.ask_who(made, judges, asked), *judges)

    def settled(self, made: TableMap, judges: Sequence[str]) -> Guess:
        """Return the guess of known columns, or ask what all their words mean."""
        votes = any(USUAL.vote(one) is not None for one in self.said_in(judges))
        known = votes or self.options.pass_labels
        words = {} if known else self.words([*map(self.cells, judges)])
        if not words:
            return Guess(made, tuple(judges))
        self.made["words"] = words  # other columns may hold the same words
        found = self.by_cells()
        asked = any("dimension" in rule for rule in found.made.ballots)
        command = f"{self.command} {_naming(found.judges, asked=asked)}"
        return self.ask_words(found.made, judges, command)

    def ask_who(self, made: TableMap, judges: Sequence[str], asked: Sequence[str]) -> str:
        """Return the command that says whether columns are judges, and by which score they pass."""
        scored = [one for one in asked if None not in map(likely_number, self.cells(one))]
        if made.scales or len({self.highest([one]) > 1 for one in scored}) > 1:
            return self.see  # no option states the scale of each question
        hint = "If each column is a judge, name them with --judge-columns; if each asks another"
        hint += f" question, with --criteria-columns: reviewdesk open {self.command}"
        hint += f" {_naming(judges, asked=bool(asked))}"
        scale = made.scale or usual_scale(chain.from_iterable(map(self.cells, judges)))
        low, high = scale or (0, 1)
        stated = f" --scale {low:g}..{high:g}" * ((low, high) != (0, 1))
        several = not asked and len(judges) > 1
        hint += " --strategy majority" * several + stated
        return hint + " --threshold 0.5" * bool(stated or (several and scale))

    def worded(self, free: Sequence[str], judges: Sequence[str]) -> list[str]:
        """Return the columns whose words are not all known, with judges that use the same words."""
        said = {one: {*map(str, self.cells(one))} for one in (*free, *judges)}
        named = [one for one in free if JUDGE.search(one)]
        worded = [one for one in free if one in named or self.has_words(self.cells(one))]
        more = [one for one in worded if any(said[one] & said[judge] for judge in judges)]
        if judges:
            return more if len({*more, *judges}) > len(judges) else []
        likely = [one for one in worded if MARKED.search(one) or JUDGE.search(one)] or worded
        known = {word for one in likely for word in said[one]}
        return [one for one in worded if said[one] <= known]

    def ask_words(self, made: TableMap, columns: Sequence[str], command: str) -> Guess:
        """Return a guess whose hint is the command that states the meaning of the words."""
        words = made.words
        said = self.said_in(columns)
        found = [(key, one) for key in words for one in words[key] if one in said]
        options = [f"--{key}-label {shlex.quote(one)}" for key, one in found]
        shown = ", ".join(show_line(one, 40) for _, one in found)
        problem = f"has words that are not known to pass or fail: {shown}"
        hint = f"Say what they mean: reviewdesk open {command} {show_line(' '.join(options), 300)}"
        return _unsure(made, problem, hint, *columns)


def _naming(columns: Sequence[str], *, asked: bool) -> str:
    option = "--criteria-columns" if asked else "--judge-columns"
    return f"{option} {show_line(shlex.quote(','.join(columns)), 300)}"


def _unsure(made: TableMap, problem: str, hint: str, *judges: str) -> Guess:
    return Guess(made, judges, False, problem, hint)


def _map(made: Cells) -> TableMap:
    return convert(made, TableMap)
