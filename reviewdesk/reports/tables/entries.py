"""The content of one row of a table, read by a map: facts on an item, ballots, and a label."""

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from hashlib import blake2b
from operator import itemgetter
from types import MappingProxyType
from typing import Any, TypeAlias

from msgspec import Struct, convert
from msgspec.structs import fields, replace

from reviewdesk.domain.verdict import folded
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.foreign import RefusedTableError, Remarks, unread_keys
from reviewdesk.reports.mapping.secrets import is_setting
from reviewdesk.reports.tables.cells import (
    FACTS,
    CellError,
    Cells,
    blank,
    likely_number,
    name,
    with_decimal_point,
    without_remark,
)
from reviewdesk.reports.tables.nested import asks
from reviewdesk.reports.tables.rows import Layout, TableRow
from reviewdesk.reports.tables.table_map import (
    BALLOT_PATHS,
    OWN_FACTS,
    Ballot,
    BallotRule,
    Human,
    Reader,
    RulePlace,
    TableMap,
    Vote,
    elements,
    names_in,
    reader,
)
from reviewdesk.reports.wording import must_be

_NOTHING: Cells = MappingProxyType({})
_WAYS = re.compile(r" \+ |\|")
"""What stands between the columns of a path."""
_TITLE = 160
"""The number of characters that are kept of each part of a title."""
_FACTS = (
    *FACTS, "strategy", "agreement", "escalation", "case_name", "attempt", "rubric", "human",
    "row_error",
)  # fmt: skip
"""The paths of the facts of a row."""
_ANSWERS = frozenset({"pass", "label", "error"})
_MOST_VOTES = 100
_MOST_KNOWN = 10_000
"""The number of ballots of one place that are remembered by their cells."""


class TableItem(Struct, eq=False):
    """An item under one rubric; consecutive rows with the same facts on it share it."""

    key: tuple[str, str]
    """The key of the verdict: rows with the same key form one verdict."""
    item: str = ""
    rubric: str = ""
    dimension: str = ""
    title: str = ""
    """The item's name on the desk, if ``item`` is an id that only groups the rows."""
    facts: Cells = _NOTHING
    problem: CellError | None = None
    """The reason why the row cannot be read."""


TableEntry: TypeAlias = tuple[TableItem, Sequence[Ballot], Sequence[Human]]
"""An item, with the ballots, the checks and the labels that one row has for it."""


class MapReader:
    """Reads the rows of one table by a map; ``used`` are the columns that the map reads."""

    def __init__(self, made: TableMap, layout: Layout) -> None:
        self.made = made
        self.holds_secrets = not layout.delimiter or any(map(is_setting, layout.columns))
        """Whether a cell may be an API key or hold one, by its column's name."""
        self._columns = layout.columns
        self._plain = bool(layout.delimiter)
        self.used: set[str] = set()
        self._paths: dict[Reader, str] = {}
        items = [made.item] if isinstance(made.item, str) else made.item
        self._items = [self._joined_names(path) for path in items if path]
        self._facts = [
            (path, self._reader(text) if isinstance(text, str) else self._joined(text))
            for path in _FACTS
            if (text := getattr(made, path))
        ]
        self.roles = {*OWN_FACTS, "label", *(path for path, _ in self._facts)}
        """The facts that an item may have."""
        if "conversation" in self.roles:
            self.roles |= {"input", "output"}
        self._of_human = [
            self._reader(path) if path else None for path in (made.human_by, made.human_at)
        ]
        self._title = self._joined_names(made.title)
        self._origin = {key: self._reader(path) for key, path in made.origin.items()}
        self._below = bool(made.judge and made.item) and not (made.name or layout.outline)
        """Whether a row without an id or other facts is about the item of the row above it."""
        self._last_human: Sequence[Human] = ()
        self._skips: list[RulePlace] = []
        self._known: dict[str, set[str]] = {}
        self._own_facts: dict[str, Cells] = {}
        """The facts that a row states by question."""
        about = {*self.used}
        self._beside_questions = False
        self._groups = self._read_rules()
        about = about if made.item and not items[0].startswith("=") else self.used
        self._heads = {*about, *(one.split(".")[0] for one in about)}
        every = [place for _, places in self._groups for place in places]
        alone = [place.alone for place in every]
        asked = [self._dimension(one, _NOTHING, name(one.get("judge", _NOTHING))) for one in every]
        self._panel = [place.known for place in every]
        whole = len(alone) > 1 and all(alone) and not any(asked)
        self._of_panel = itemgetter(*alone) if whole else None
        """Reads the texts of a row on which its ballots depend, if each depends on one of them."""
        reads = [
            *(read for parts in self._items for read in parts),
            *(read for _, read in self._facts),
            *filter(None, self._of_human),
            *(*self._title, *self._origin.values()),
        ]
        paths = [self._paths.get(read, "") for read in reads]
        self._last: Any = None
        self._last_items: dict[str, TableItem] = {}
        self._of_row: Reader = lambda cells: [read(cells) for read in reads]
        """Reads every cell on which the item of a row depends."""
        keys = {path for path in self._columns if path and (self._plain or "." not in path)}
        if keys.issuperset(paths):
            self._of_row = lambda cells: [*map(cells.get, paths)]

    def _read_rules(self) -> list[tuple[str, list[RulePlace]]]:
        groups: dict[str, list[RulePlace]] = {}
        of_rule = {one.name: one.encode_name for one in fields(BallotRule)}
        # The decision and the output of the map itself are those of the item.
        shared = {
            key: value
            for name, key in of_rule.items()
            if name not in {"decision", "output"} and (value := getattr(self.made, name))
        }
        self.likely_whole = False
        """Whether a row of this tool holds a whole panel, so that rows of an id are not joined."""
        for raw in [shared | one for one in self.made.ballots] or [shared]:
            rule = convert(raw, BallotRule)
            if rule.columns:
                pattern = rule.columns if isinstance(rule.columns, str) else "*"
                self._beside_questions |= any(map(asks, self._stars(rule)))
                for star in self._stars(rule):
                    place = self._place({"score": pattern, "judge": "=*", **raw}, star)
                    said = rule.score or (rule.label if rule.as_ == "person" else "")
                    score = pattern if said.startswith("=") else said or pattern
                    group = f"{score}\0{star}\0{rule.as_ == 'person'}"
                    groups.setdefault(group, []).append(place)
            elif rule.as_ == "nothing" and not rule.each:
                self._skips.append(self._place(raw))
            else:
                # Each question that a rule names has an answer of its own in an element.
                asked = rule.dimension if rule.dimension.startswith("=") else ""
                groups.setdefault(f"{rule.each}\0{asked}", []).append(self._place(raw))
            for one in filter(None, _WAYS.split(rule.each)):
                self._use(f"{one.partition('.*')[0]}.*")
            if not (rule.each or rule.columns):
                continue
            if self.made.name and ("*" in raw.get("judge", "*") or rule.each):
                self.likely_whole = True
            texts = " + ".join([*(raw.get(path, "") for path in BALLOT_PATHS), *rule.where])
            known = self._known.setdefault(rule.each, set())
            known.update(one.split(".")[0] for one in _WAYS.split(texts))
            known.update(rule.known)
        return [(places[0].rule.each, places) for places in groups.values()]

    def _reader(self, path: str) -> Reader:
        self._use(path)
        read = reader(path, self._columns)
        self._paths[read] = path
        return read

    def _joined_names(self, path: str) -> list[Reader]:
        parts = [path] if path in self._columns else path.split(" + ")
        return [self._reader(one.strip()) for one in parts if one]

    def _joined(self, paths: Sequence[str]) -> Reader:
        """Return a function that joins texts and turns; a text among turns is the user's."""
        readers = [self._reader(path) for path in paths]

        def joined(cells: Cells) -> str | None:
            parts = [read(cells) for read in readers]
            spoken = any(isinstance(part, list) and part for part in parts)
            lines: list[str] = []
            for part in parts:
                if isinstance(part, list):
                    lines += values.dialogue(part)
                elif not blank(part):
                    lines.append(f"{'user: ' * spoken}{values.text(part)}")
            return "\n".join(lines) or None

        return joined

    def _use(self, path: str) -> None:
        for one in [path] if path in self._columns else path.split("|"):
            self.used.add(one)
            start, star, end = one.partition(".*")
            if star and one not in self._columns:
                self.used.add(start)
                named = (name for name in self._columns if name.startswith(f"{start}."))
                self.used.update(name for name in named if name.endswith(end))

    def _place(self, raw: Cells, star: str = "*") -> RulePlace:
        place = RulePlace(raw, star, self._columns, plain=self._plain)
        for path in () if place.rule.each else place.paths:
            self._use(path)
        return place

    def _stars(self, rule: BallotRule) -> list[str]:
        if isinstance(rule.columns, list):
            return rule.columns
        left_out = {rule.except_} if isinstance(rule.except_, str) else set(rule.except_)
        start, _, end = rule.columns.partition("*")
        found = (
            name[len(start) : len(name) - len(end)]
            for name in dict.fromkeys(self._columns)
            if name.startswith(start) and name.endswith(end) and len(name) >= len(start) + len(end)
        )
        return [star for star in found if not any(fnmatchcase(star, one) for one in left_out)]

    def entries(self, row: TableRow, remarks: Remarks) -> list[TableEntry]:
        """Return the content of a row, an entry for each rubric; empty if it holds no ballots."""
        if row.problem:
            self._last = None
            self._last_items = {}
            return [(TableItem(("", row.place), problem=CellError("", row.problem)), (), ())]
        if not (self._plain or self.made.name) and self._heads.isdisjoint(row.cells):
            remarks.count("a row without an item, such as one with a sum, is left out")
            return []
        for place in self._skips:
            if place.fits(row.cells):
                remarks.count(place.rule.note)
                return []
        found: list[TableEntry] = []
        try:
            inputs = self._of_row(row.cells)
            first = row.number == 1 or not self._last_items
            below = self._below and not first and all(map(blank, inputs))
            if self.likely_whole or first or (inputs != self._last and not below):
                self._last = inputs
                self._last_items = {"": self._new_item(row, remarks)}
            items = self._last_items
            humans: dict[str, list[Human]] = {}
            self._own_facts.clear()
            texts = self._of_panel(row.cells) if self._of_panel else ()
            known = [*filter(None, map(dict.get, self._panel, texts))]
            whole = len(known) == len(texts) > 0
            votes = {"": known} if whole else self.votes(row.cells, remarks, humans)
            self._add_label(votes, humans)
            for dimension, ballots in votes.items() if votes else [("", ())]:
                if (item := items.get(dimension)) is None:
                    key = (items[""].key[0], dimension)
                    # Each column may be an item.
                    about = {"item" if self.made.item == "=*" else "dimension": dimension}
                    item = items[dimension] = replace(items[""], key=key, **about)
                    if facts := self._own_facts.get(dimension):
                        item.facts = {**item.facts, **facts}
                found.append((item, ballots, humans.get(dimension, ())))
        except CellError as error:
            self._last = None
            found = [(TableItem(("", row.place), problem=error), (), ())]
        return found

    def _add_label(self, votes: dict[str, list[Ballot]], humans: dict[str, list[Human]]) -> None:
        """Add the label of a row: to its only question, else to the item as a whole."""
        if self._last_human:
            about = "" if len(votes) > 1 else next(iter(votes), "")
            humans.setdefault(about, [*self._last_human])
            votes.setdefault(about, [])

    def _new_item(self, row: TableRow, remarks: Remarks) -> TableItem:
        cells = row.cells
        facts = {path: value for path, read in self._facts if not blank(value := read(cells))}
        self._last_human = ()
        if "human" in facts:
            by, at = (read(cells) if read else None for read in self._of_human)
            self._last_human = (Human((facts.pop("human"),), by, at),)
        rubric = (values.text(facts.pop("rubric")) or "").strip() if "rubric" in facts else ""
        if self._origin:
            facts["origin"] = {key: read(cells) for key, read in self._origin.items()}
        item = ""
        for parts in self._items:
            if item := names_in("/", cells, parts):
                break
        else:
            self._last = None
            item = f"row {row.number}" if self._items else str(row.number)
            if self._items:
                remarks.count("a row without an id is named by its number")
        # A hash replaces a long item, such as a prompt, so that grouping keeps no texts in memory.
        group = item
        if len(item) > _TITLE:
            group = blake2b(item.encode(), digest_size=16).hexdigest()
        if self.likely_whole:
            group = f"{group}\0{row.number}"
        title = names_in(": ", cells, self._title, _TITLE) if self._title else ""
        return TableItem((group, rubric), item, rubric, "", title, facts)

    def votes(
        self, cells: Cells, remarks: Remarks, humans: dict[str, list[Human]]
    ) -> dict[str, list[Ballot]]:
        """Return the ballots in a row by the question they answer; add labels to ``humans``."""
        votes: dict[str, list[Ballot]] = {}
        for each, places in self._groups:
            for scope, column in self._inside(cells, each, remarks) if each else ((cells, ""),):
                for place in places:
                    if not place.conditions or place.fits(scope):
                        break
                else:
                    continue
                if place.is_ballot:
                    if (ballot := self._ballot(place, scope, column)) is not None:
                        found = votes.setdefault(ballot[0].dimension, [])
                        if place.rule.times:
                            found += self._counted(place, scope, ballot)
                        else:
                            found.append(ballot)
                elif place.rule.as_ == "refused":
                    raise RefusedTableError(place.rule.note)
                elif place.rule.as_ == "person":
                    dimension = self._dimension(place, scope, name(place.get("judge", scope)))
                    humans.setdefault(dimension, []).extend(place.humans(scope))
                    votes.setdefault(dimension, [])
        return votes

    def panel(self, records: Sequence[Cells], remarks: Remarks) -> dict[str, list[Ballot]]:
        """Return the ballots in a panel's records by their question; the map has one plain rule."""
        votes: dict[str, list[Ballot]] = {}
        ((each, (place,)),) = self._groups
        known = self._known[each]
        for at, record in enumerate(records):
            if not known.issuperset(record):
                self._unmapped(record, each, remarks)
            ballot = self._ballot(place, record, f"{each}.{at}")
            if ballot is not None:
                votes.setdefault(ballot[0].dimension, []).append(ballot)
        return votes

    def _unmapped(self, element: Cells, each: str, remarks: Remarks) -> None:
        keys = (name for name, cell in element.items() if cell not in (None, "", [], {}))
        remarks.unmapped((name for name in keys if name not in self._known[each]), f"{each}.")

    def _inside(self, cells: Cells, each: str, remarks: Remarks) -> Iterator[tuple[Cells, str]]:
        """Yield the elements inside a row, each with its path for error messages."""
        known = self._known[each]
        for scope, path in elements(cells, each, self._columns):
            inner = scope["@value"]
            if isinstance(inner, dict) and not known.issuperset(inner):
                self._unmapped(inner, each, remarks)
            yield scope, path

    def _ballot(self, place: RulePlace, scope: Cells, column: str) -> Ballot | None:
        key, fields = (place.text(scope), place.fields) if place.text else place.key(scope)
        found = place.known.get(key)
        if found is None and (found := self._new_ballot(place, scope, column, key)) is None:
            return None
        vote = found[0]
        if place.own:
            stated = {role: place.get(role, scope) for role in place.own}
            self._own_facts[vote.dimension] = values.without_nulls(stated)
        own = {}
        for field, of_cell, read in fields:
            if not blank(value := read(scope)) and (held := of_cell(value)) is not None:
                own[field] = held
        return (vote, own) if own else found

    def _counted(self, place: RulePlace, scope: Cells, ballot: Ballot) -> list[Ballot]:
        """Return a ballot as often as its row counts it."""
        times, less = (likely_number(place.get(one, scope)) or 0 for one in ("times", "less"))
        if not 0 <= (count := int(times - less)) <= _MOST_VOTES:
            raise CellError(place.rule.times, must_be(f"0 to {_MOST_VOTES} votes", count))
        vote, own = ballot
        return [(replace(vote, seat=(vote.judge, str(at)), order=at), own) for at in range(count)]

    def _new_ballot(self, place: RulePlace, scope: Cells, column: str, key: Any) -> Ballot | None:
        """Return a vote, or None if its judge was not asked; rows of one ``key`` share it."""
        score = place.read["score"](scope) if "score" in place.read else None
        failed = place.get("failed", scope)
        held = {role: one for role, read in place.cells if not blank(one := read(scope))}
        silent = not failed and blank(score) and _ANSWERS.isdisjoint(held)
        judge = name(place.get("judge", scope))
        listed = bool(place.rule.columns)
        # A tool leaves a scorer's cell empty if it did not ask it, and a question's if it failed.
        unasked = bool(self.made.name) and "dimension" not in place.read
        other = not (column or self.made.name) and scope.keys().isdisjoint(place.heads)
        labelled = other or bool(self._last_human)
        if silent and (unasked if listed else labelled and not judge):
            return None
        if not self.made.name:
            # In a plain table an empty cell means no vote; an absent column means nothing.
            for role, column_name in place.asked.items():
                if column_name in scope:
                    held.setdefault(role, None)
        if (graded := without_remark(score)) is not score:
            held["raw"] = score
        score = with_decimal_point(graded)
        has_failed = bool(failed) and folded(str(failed)) not in {"false", "0", "no"}
        if has_failed:
            reason = place.get("reason", scope)
            held["error"] = reason if isinstance(reason, str) else True
            score = None
        own = "" if place.column == "@value" else f".{place.column}"
        shown = f"{column}{own}" if column else place.column
        judge = judge or "unnamed"
        repeat = held.get("repeat", "")
        vote = Vote(
            judge,
            score,
            shown,
            held,
            self._dimension(place, scope, judge),
            (judge, str(repeat).strip()),
            likely_number(repeat) or 0,
            self._unread(place, scope) if silent and not listed else (),
            place.rule.as_ == "check",
        )
        if not silent and not has_failed:
            if len(place.known) >= _MOST_KNOWN:
                place.known.clear()
            place.known[key] = vote, {}
        return vote, {}

    def _unread(self, place: RulePlace, scope: Cells) -> Sequence[str]:
        """Return the columns or keys that may hold the answer of a ballot without one."""
        answering = [place.column, *place.asked.values()]
        if not place.rule.each:
            unread = unread_keys(scope, answering, self.used - {place.why})
            return () if self.made.name else [one for one in unread if not blank(scope[one])]
        element = scope.get("@value", scope)
        if element is None:
            return ()
        if not isinstance(element, dict):
            return () if "@value" in answering else (place.rule.each,)
        return unread_keys(element, answering, self._known[place.rule.each] - {place.why})

    def _dimension(self, place: RulePlace, scope: Cells, judge: str) -> str:
        """Return the question that a ballot answers, if the judges answer different ones."""
        stated = name(place.get("dimension", scope))
        if stated or place.rule.as_ == "check" or self.made.panel or not self.made.name:
            return stated
        return judge if asks(judge, self._beside_questions) else ""
