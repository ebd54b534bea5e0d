"""What one row of a table says, read by a map: facts on an item, ballots, and a label."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, TypeAlias

from msgspec import Struct, convert, field
from msgspec.structs import fields

from reviewdesk.domain.verdict import folded
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.ballots import unread_keys
from reviewdesk.reports.mapping.foreign import Remarks
from reviewdesk.reports.tables.cells import (
    CellError,
    blank,
    is_criterion,
    name,
    parsed,
    with_decimal_point,
)
from reviewdesk.reports.tables.rows import TableRow
from reviewdesk.reports.tables.table_map import BallotRule, TableMap, Words
from reviewdesk.reports.wording import must_be

_NOTHING: Mapping[str, Any] = MappingProxyType({})

_TITLE = 160
"""How many characters of each part of a title are kept."""
_ROLES = {
    role: role
    for role in (
        "test", "suite", "tags", "threshold", "decision", "input", "output", "conversation",
        "alternative", "reference", "generator", "rival", "strategy", "agreement", "escalation",
        "case_name", "attempt", "rubric", "human",
    )
} | {"failed": "row_error"}  # fmt: skip
"""The path of each fact of a row."""
_NO_BALLOTS = frozenset({"nothing", "none"})
_ANSWERS = frozenset({"pass", "label", "error"})
_CELLS = {
    one.encode_name: one.encode_name
    for one in fields(BallotRule)
    if one.name not in {"each", "columns", "except_", "where", "as_", "note", "judge", "score",
                        "failed", "dimension", "by"}
} | {"epoch": "repeat"}  # fmt: skip
_PATHS = ("judge", "score", "failed", "dimension", "by", *_CELLS)


class Vote(Struct, frozen=True):
    """One judge's ballot, as the cells of a row hold it."""

    judge: str
    score: Any = None
    column: str = "score"
    """The column of the score, for error messages."""
    cells: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    """Other cells by role, such as ``reason``. An empty ``pass`` means no vote."""
    words: bool = False
    """Whether the score may be any word, because no other cell can hold a label."""
    unread: tuple[str, ...] = ()
    """Columns that may hold the answer, if the usual columns for an answer are empty."""
    check: bool = False
    """Whether this is a program's check rather than a juror's ballot."""


class Human(Struct, frozen=True):
    """A person's label in a row. The first of ``words`` that is a label counts."""

    words: tuple[Any, ...]
    by: Any = None
    at: Any = None
    note: Any = None


class TableEntry(Struct, frozen=True):
    """Facts on an item under one rubric, with ballots, checks and a human label from one row."""

    item: str
    row: str = ""
    """What tells the rows of one item apart, if each is a verdict of its own."""
    rubric: str = ""
    dimension: str = ""
    name: str = ""
    """The item's name on the desk, if ``item`` is an id that only groups the rows."""
    facts: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    votes: tuple[Vote, ...] = ()
    human: Human | None = None

    @property
    def key(self) -> tuple[str, str]:
        """The key of the verdict: rows with the same key form one verdict.

        A hash stands for a long item, such as a prompt, so that counting items holds no texts.
        """
        item = self.item
        if len(item) > _TITLE:
            item = blake2b(item.encode(), digest_size=16).hexdigest()
        return f"{item}{self.row}", self.dimension or self.rubric


Reader: TypeAlias = Callable[[Mapping[str, Any]], Any]


def reader(path: str, columns: Sequence[str] = ()) -> Reader:
    """Return a function that reads the first filled cell of a path from a row."""
    if path in columns:
        return _one_reader(path, columns)
    if " + " in path:
        parts = [reader(part, columns) for part in path.split(" + ")]
        return lambda cells: ": ".join(filter(None, (name(read(cells)) for read in parts)))
    readers = [_one_reader(one, columns) for one in path.split("|") if one]
    if len(readers) == 1:
        return readers[0]

    def first(cells: Mapping[str, Any]) -> Any:
        found = (read(cells) for read in readers)
        return next((value for value in found if not blank(value)), None)

    return first


def _one_reader(path: str, columns: Sequence[str]) -> Reader:
    if path in columns:
        # A name with a point may also be that of a key inside an object.
        return (lambda cells: _at(cells, path)) if "." in path else (lambda cells: cells.get(path))
    if path.startswith("="):
        return lambda _cells: path[1:]
    if path.endswith(".*"):
        return lambda cells: _gathered(cells, path[:-2], columns)
    return lambda cells: _at(cells, path)


def _at(held: Any, path: str) -> Any:
    """Return what is at a path in an object, a list or a JSON text; None if nothing is there."""
    held = parsed(held)
    if isinstance(held, list):
        step, _, rest = path.partition(".")
        if not step.lstrip("-").isdecimal() or not -len(held) <= int(step) < len(held):
            return None
        return _at(held[int(step)], rest) if rest else held[int(step)]
    if not isinstance(held, Mapping):
        return None
    if not blank(value := held.get(path)):
        return value
    end = path.find(".")
    while end > 0:
        if (inner := held.get(path[:end])) is not None:
            return _at(inner, path[end + 1 :])
        end = path.find(".", end + 1)
    return None


def _gathered(cells: Mapping[str, Any], stem: str, columns: Sequence[str]) -> Any:
    """Return the one cell whose column begins with a stem, several as an object, or None."""
    found = cells.get(stem)
    if not isinstance(found, dict):
        start = f"{stem}."
        found = {key[len(start) :]: cells.get(key) for key in columns if key.startswith(start)}
    filled = {key: one for key, one in found.items() if not blank(one)}
    return next(iter(filled.values())) if len(filled) == 1 else filled or None


def _nothing(_cells: Mapping[str, Any]) -> None:
    """Read a path that the map does not have."""


class _Place(Struct, frozen=True):
    """A rule with its paths read, for one place of a row."""

    rule: BallotRule
    conditions: tuple[tuple[Reader, frozenset[str], tuple[Reader, ...]], ...]
    read: Mapping[str, Reader]
    judge: Reader
    score: Reader
    failed: Reader
    dimension: Reader
    cells: tuple[tuple[str, Reader], ...]
    column: str
    """The column of the score, for error messages."""
    asked: Mapping[str, str]
    """The columns of votes and labels, by their role."""
    why: str
    """The column of the reason, which a ballot without an answer does not have."""

    def fits(self, cells: Mapping[str, Any]) -> bool:
        """Return True if the conditions of the rule hold for a row or an element."""
        for read, words, others in self.conditions:
            value = read(cells)
            word = "" if blank(value) or value in ([], {}) else folded(str(value))
            differs = any(word and word != folded(str(other(cells) or word)) for other in others)
            if word not in words and not differs and not (word and "*" in words):
                return False
        return True

    def get(self, path: str, cells: Mapping[str, Any]) -> Any:
        """Return what a path of the rule holds; a blank cell is None."""
        read = self.read.get(path)
        value = read(cells) if read else None
        return None if blank(value) else value


def _place(raw: Mapping[str, Any], columns: Sequence[str], star: str | None = None) -> _Place:
    """Return a rule for the row, an element, or the column that has ``star`` at the ``*``."""
    rule = convert(raw, BallotRule)
    named = {path: raw[path] for path in _PATHS if raw.get(path)}
    if star is not None:
        named.setdefault("score", "*")
        named.setdefault("judge", "=*")
        named = {path: text.replace("*", star) for path, text in named.items()}
    within = () if rule.each else columns
    read = {path: reader(text, within) for path, text in named.items()}
    conditions = []
    for where, words in rule.where.items():
        path = where if star is None else where.replace("*", star)
        listed = [words] if isinstance(words, str) else words
        compared = [word[2:] if word.startswith("!=") else f"={word[1:]}" for word in listed
                    if word.startswith("!")]  # fmt: skip
        others = tuple(reader(one, within) for one in compared)
        conditions.append((reader(path, within), frozenset(map(folded, listed)), others))
    cells = tuple((role, read[path]) for path, role in _CELLS.items() if path in read)
    held = {path: _first_of(text, within) for path, text in named.items()}
    asked: dict[str, str] = {path: held[path] for path in ("pass", "label") if path in held}
    column = held.get("score") or next(iter(asked.values()), "score")
    return _Place(
        rule,
        tuple(conditions),
        read,
        read.get("judge", _nothing),
        read.get("score", _nothing),
        read.get("failed", _nothing),
        read.get("dimension", _nothing),
        cells,
        column,
        asked,
        held.get("reason", ""),
    )


def _alternatives(path: str | Mapping[str, Any]) -> list[str]:
    """Return each path of a rule's field, or of its conditions."""
    if isinstance(path, str):
        return [one for part in path.split(" + ") for one in part.split("|")]
    return [one for key in path for one in key.split("|")]


def _first_of(path: str, columns: Sequence[str]) -> str:
    """Return the column of a path that is there, else its first one."""
    alternatives = [path] if path in columns else path.split("|")
    return next((one for one in alternatives if one in columns), alternatives[0])


class RefusedTableError(ValueError):
    """A map says that the table cannot be read: why, and what to do behind a semicolon."""


class MapReader:
    """Reads the rows of one table by a map.

    ``used`` are the columns that the map reads. ``comma`` says that numbers have a decimal comma.
    """

    def __init__(
        self,
        made: TableMap,
        columns: tuple[str, ...],
        *,
        comma: bool = False,
        criteria: frozenset[str] = frozenset(),
        judges: frozenset[str] = frozenset(),
    ) -> None:
        """Resolve the paths. ``criteria`` and ``judges`` are names that a person said to be so."""
        self._map = made
        self._columns = columns
        self._comma = comma
        self._criteria = criteria
        self._judges = judges
        self.used: set[str] = set()
        items = [made.item] if isinstance(made.item, str) else made.item
        self._items = [
            [self._reader(one.strip()) for one in self._split(path, " + ")]
            for path in items
            if path
        ]
        self._title = [self._reader(one.strip()) for one in made.title.split(" + ") if one]
        self._facts = [
            (role, self._reader(text) if isinstance(text, str) else self._joined(text))
            for role, path in _ROLES.items()
            if (text := getattr(made, path))
        ]
        self._of_human = [
            self._reader(path) if path else None for path in (made.human_by, made.human_at)
        ]
        self._key_facts = [one for one in self._facts if one[0] in {"rubric", "human"}]
        self._origin = {name: self._reader(path) for name, path in made.origin.items()}
        self._skips: list[_Place] = []
        self._groups: dict[str, list[_Place]] = {}
        self._known: dict[str, set[str]] = {}
        rules = self._rules()
        for raw in rules:
            self._add(raw)
        inner = [raw for raw in rules if raw.get("each") or raw.get("columns")]
        self._whole = bool(made.name) and any("*" in raw.get("judge", "*@") or raw.get("each")
                                              for raw in inner)  # fmt: skip
        """Whether a row of this tool holds a whole panel, so that rows of one id are not joined."""
        for raw in inner:
            known = self._known.setdefault(raw.get("each", ""), set())
            for path in (*_PATHS, "where"):
                known.update(one.split(".")[0] for one in _alternatives(raw.get(path, "")))

    def _rules(self) -> list[dict[str, Any]]:
        of_rule = {one.name: one.encode_name for one in fields(BallotRule)}
        shared = {
            key: value for name, key in of_rule.items() if (value := getattr(self._map, name))
        }
        return [shared | one for one in self._map.ballots] or [shared]

    def _split(self, path: str, mark: str) -> list[str]:
        return [path] if path in self._columns else path.split(mark)

    def _reader(self, path: str) -> Reader:
        self._use(path)
        return reader(path, self._columns)

    def _joined(self, paths: Sequence[str]) -> Reader:
        """Return a function that joins texts and turns; beside turns a text is the user's."""
        readers = [self._reader(path) for path in paths]

        def joined(cells: Mapping[str, Any]) -> str | None:
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
        for one in self._split(path, "|"):
            gathers = one.endswith(".*") and one not in self._columns
            self.used.update(
                (one[:-2], *(name for name in self._columns if name.startswith(one[:-1])))
                if gathers
                else (one,)
            )

    def _add(self, raw: dict[str, Any]) -> None:
        rule = convert(raw, BallotRule)
        if rule.columns:
            pattern = rule.columns if isinstance(rule.columns, str) else "*"
            raw = {"score": pattern, **raw}
            for star in self._stars(rule.columns, rule.except_):
                self._join(f"\0{star}", _place(raw, self._columns, star))
                self._use_all(raw, star)
            return
        place = _place(raw, self._columns)
        if rule.each:
            start = f"{rule.each}."
            self.used.update((rule.each, *(key for key in self._columns if key.startswith(start))))
        else:
            self._use_all(raw)
        if rule.as_ == "nothing" and not rule.each:
            self._skips.append(place)
            return
        self._join(rule.each, place)

    def _join(self, group: str, place: _Place) -> None:
        """Add a rule to those for one place of a row, of which the first that fits counts."""
        self._groups.setdefault(group, []).append(place)

    def _use_all(self, raw: Mapping[str, Any], star: str = "*") -> None:
        where: Mapping[str, Words] = raw.get("where", {})
        words = [
            word for one in where.values() for word in ([one] if isinstance(one, str) else one)
        ]
        compared = [word[2:] for word in words if word.startswith("!=")]
        for path in (*(raw.get(path, "") for path in _PATHS), *where, *compared):
            self._use(path.replace("*", star))

    def _stars(self, columns: Words, without: Words) -> list[str]:
        left_out = {without} if isinstance(without, str) else set(without)
        if isinstance(columns, list):
            return columns
        start, _, end = columns.partition("*")
        found = (
            name[len(start) : len(name) - len(end)]
            for name in dict.fromkeys(self._columns)
            if name.startswith(start) and name.endswith(end) and len(name) > len(start) + len(end)
        )
        return [star for star in found if star not in left_out]

    def entries(
        self, row: TableRow, remarks: Remarks, *, only_ballots: bool = False
    ) -> list[TableEntry]:
        """Return what a row says: an entry for each rubric; none if the row holds no ballots.

        ``only_ballots`` leaves out the facts on the item, for a look that needs none.

        Raises:
            CellError: the row cannot be read.
        """
        cells = row.cells
        for place in self._skips:
            if place.fits(cells):
                remarks.count(place.rule.note)
                return []
        wanted = self._key_facts if only_ballots else self._facts
        facts = {role: one for role, read in wanted if not blank(one := read(cells))}
        rubric = ""
        if "rubric" in facts:
            rubric = (values.text(facts.pop("rubric")) or "").strip()
        row_human = self._human(facts.pop("human"), cells) if "human" in facts else None
        votes, humans = self._ballots(cells, remarks, labelled=row_human is not None)
        item = self._item(row, remarks)
        apart = f"\0{row.number}" if self._whole else ""
        title = ""
        if self._title:
            title = ": ".join(filter(None, (name(read(cells))[:_TITLE] for read in self._title)))
        if self._origin:
            facts["origin"] = {key: read(cells) for key, read in self._origin.items()}
        alone = len(votes) < 2
        return [
            TableEntry(
                item,
                apart,
                rubric,
                dimension,
                title,
                facts,
                tuple(ballots),
                humans.get(dimension) or (row_human if alone else None),
            )
            for dimension, ballots in (votes or {"": []}).items()
        ]

    def _ballots(
        self, cells: Mapping[str, Any], remarks: Remarks, *, labelled: bool
    ) -> tuple[dict[str, list[Vote]], dict[str, Human | None]]:
        """Return the ballots and the labels in a row by the question that they answer."""
        votes: dict[str, list[Vote]] = {}
        humans: dict[str, Human | None] = {}
        for places in self._groups.values():
            for scope, column in self._scopes(cells, places[0].rule.each, remarks):
                for place in places:
                    if not place.conditions or place.fits(scope):
                        break
                else:
                    continue
                kind = place.rule.as_
                if kind == "refused":
                    raise RefusedTableError(place.rule.note)
                if kind == "person":
                    dimension = self._dimension(place, scope, name(place.judge(scope)))
                    humans[dimension] = humans.get(dimension) or _person(place, scope)
                    votes.setdefault(dimension, [])
                elif kind not in _NO_BALLOTS and (
                    vote := self._vote(place, scope, column, labelled=labelled)
                ):
                    dimension = self._dimension(place, scope, vote.judge)
                    votes.setdefault(dimension, []).append(vote)
        return votes, humans

    def _human(self, word: Any, cells: Mapping[str, Any]) -> Human:
        by, at = (read(cells) if read else None for read in self._of_human)
        return Human((word,), by, at)

    def _item(self, row: TableRow, remarks: Remarks) -> str:
        for parts in self._items:
            if len(parts) == 1:
                if joined := name(parts[0](row.cells)):
                    return joined
                continue
            ids = [name(value) for read in parts if not blank(value := read(row.cells))]
            if joined := "/".join(filter(None, ids)):
                return joined
        if not self._items:
            return str(row.number)
        remarks.count("a row without an id is named by its number")
        return f"row {row.number}"

    def _scopes(
        self, cells: Mapping[str, Any], each: str, remarks: Remarks
    ) -> Iterator[tuple[Mapping[str, Any], str]]:
        """Yield the row, or the elements inside it, each with its path for error messages."""
        if not each:
            yield cells, ""
            return
        held = parsed(_at(cells, each))
        if blank(held):
            start = f"{each}."
            held = {
                key[len(start) :]: cells.get(key)
                for key in self._columns
                if key.startswith(start) and not blank(cells.get(key))
            }
        if not isinstance(held, dict | list):
            kind = "an object in JSON" if isinstance(held, str) else "an object"
            raise CellError(each, must_be(kind, held))
        listed = held.items() if isinstance(held, dict) else enumerate(held)
        for key, one in listed:
            inner = one if isinstance(one, dict) else {}
            remarks.unmapped(values.beyond(inner, self._known[each]), f"{each}.")
            yield {"@key": key, "@value": one, "^": cells, **inner}, f"{each}.{key}"

    def _vote(
        self, place: _Place, scope: Mapping[str, Any], column: str, *, labelled: bool
    ) -> Vote | None:
        """Return the ballot in a row or an element, or None if there is none."""
        score = place.score(scope)
        failed = place.failed(scope)
        held = {role: one for role, read in place.cells if not blank(one := read(scope))}
        silent = not failed and blank(score) and _ANSWERS.isdisjoint(held)
        judge = name(place.judge(scope))
        listed = bool(place.rule.columns)
        # A tool leaves the cell of a scorer empty that it did not ask; of a question, if it failed.
        unasked = bool(self._map.name) and place.dimension is _nothing
        if silent and (unasked if listed else labelled and not judge):
            return None
        if not self._map.name:
            # An empty cell of a plain table says that there is no vote, an absent column nothing.
            for role, column_name in place.asked.items():
                if column_name in scope:
                    held.setdefault(role, None)
        if self._comma:
            score = with_decimal_point(score)
        if failed and folded(str(failed)) not in {"false", "0", "no"}:
            reason = held.get("reason")
            held["error"] = reason if isinstance(reason, str) and reason.strip() else True
            score = None
        shown = place.column if not column else f"{column}.{place.column}"
        if column and place.column == "@value":
            shown = column
        unread = self._unread(place, scope) if silent and not listed else ()
        return Vote(
            judge or "unnamed",
            score,
            shown,
            held,
            words=bool(self._map.name),
            unread=unread,
            check=place.rule.as_ == "check",
        )

    def _unread(self, place: _Place, scope: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the columns or keys that may hold the answer of a ballot without one."""
        answering = [place.column, *place.asked.values()]
        if not place.rule.each:
            plain = not self._map.name
            return tuple(unread_keys(scope, answering, self.used - {place.why})) if plain else ()
        element = scope["@value"]
        if not isinstance(element, dict):
            return () if "@value" in answering else (place.rule.each,)
        known = self._known[place.rule.each] - {place.why}
        return tuple(unread_keys(element, answering, known))

    def _dimension(self, place: _Place, scope: Mapping[str, Any], judge: str) -> str:
        """Return the question that a ballot answers, if the judges answer different ones."""
        stated = name(place.dimension(scope))
        if stated or place.rule.as_ == "check" or judge in self._judges:
            return stated
        known = bool(self._map.name) and not self._map.panel and is_criterion(judge)
        return judge if known or judge in self._criteria else ""


def _person(place: _Place, scope: Mapping[str, Any]) -> Human | None:
    words = tuple(place.get(path, scope) for path in ("label", "pass", "score"))
    if all(word is None for word in words):
        return None
    by, at, note = (place.get(path, scope) for path in ("by", "at", "reason"))
    return Human(words, by, at, note)
