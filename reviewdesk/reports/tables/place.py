"""A place of a row that holds a ballot, and the votes that were read there."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, TypeAlias

from msgspec import Struct, convert

from reviewdesk.domain.verdict import folded
from reviewdesk.reports.mapping import values
from reviewdesk.reports.tables.cells import Cells, blank, likely_amount, likely_number, likely_whole
from reviewdesk.reports.tables.table_map import BallotRule, Reader, keys_of, reader

_CELLS = {
    "model": "model", "vendor": "vendor", "pass": "pass", "label": "label", "error": "error",
    "status": "status", "confidence": "confidence", "weight": "weight", "certainty": "certainty",
    "epoch": "repeat",
}  # fmt: skip
"""The paths and roles of the cells that make a ballot; most ballots agree in them."""


_OWN: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "reason": ("reason", values.text),
    "raw": ("raw", values.text),
    "latency_s": ("latency_ms", lambda value: likely_amount(value, 1000)),
    "latency_ms": ("latency_ms", likely_amount),
    "cost_usd": ("cost_usd", likely_amount),
    "tokens_in": ("tokens_in", likely_whole),
    "tokens_out": ("tokens_out", likely_whole),
    "at": ("at", values.time),
    "temperature": ("temperature", likely_number),
    "raw_score": ("raw_score", likely_number),
    "role": ("role", values.filled),
}
"""The paths of the cells that belong to a single ballot, with the field and its reader."""
_Own: TypeAlias = tuple[str, Callable[[Any], Any], Reader]
"""A field of one ballot, with what makes its value of a cell, and the cell's path."""
_OF_VOTE = ("judge", "score", "failed", "dimension")
BALLOT_PATHS = (*_OF_VOTE, "by", "decision", "output", "times", "less", *_CELLS, *_OWN)
OWN_FACTS: Sequence[str] = ("decision", "output")
_MOST_SHAPES = 1000


class Vote(Struct, eq=False):
    """One judge's ballot, read from some cells; rows with the same cells share it."""

    judge: str
    score: Any
    column: str
    """The column of the score, for error messages."""
    cells: Cells
    """Other cells by role, such as ``label``. An empty ``pass`` means no vote."""
    dimension: str
    seat: tuple[str, str]
    """The judge and the number of its repeat; this pair is unique within an item."""
    order: float
    """The number of the repeat, by which ballots of one judge are sorted."""
    unread: Sequence[str]
    """Columns that may hold the answer, if the usual columns for an answer are empty."""
    check: bool
    """Whether this is a program's check rather than a juror's ballot."""
    surveyed: bool = False
    made: dict[str, Any] = {}
    """The canonical ballot; empty until it is made."""
    remarks: Sequence[tuple[str, Any]] = ()
    """The remarks on each such ballot."""


Ballot: TypeAlias = tuple[Vote, dict[str, Any]]
"""A vote, and the fields that only this ballot has, such as ``reason``."""


class Human(Struct, frozen=True):
    """A person's label in a row. The first of ``words`` that is a label counts."""

    words: tuple[Any, ...]
    by: Any = None
    at: Any = None
    note: Any = None


class RulePlace:
    """A rule with its paths resolved, for one place of a row."""

    def __init__(self, raw: Cells, star: str, columns: Sequence[str], *, plain: bool) -> None:
        """Resolve the paths with ``star`` for ``*``; if ``plain``, rows have a text per column."""
        self.rule = rule = convert(raw, BallotRule)
        within = () if rule.each else columns
        named = {path: raw[path].replace("*", star) for path in BALLOT_PATHS if raw.get(path)}
        group, _, metric = star.partition(".")
        if metric.startswith(group) and raw.get("dimension") == "=*":
            # The scores of a grader in a group of their own are named by the group.
            named |= {path: f"={group}" for path in ("judge", "dimension") if raw[path] == "=*"}
        self.read = {path: reader(text, within) for path, text in named.items()}
        self.paths = list(named.values())
        self.conditions: list[tuple[Reader, frozenset[str], list[Reader]]] = []
        for where, words in rule.where.items():
            path = where.replace("*", star)
            listed = [words] if isinstance(words, str) else words
            others = [word[2:] if word.startswith("!=") else f"={word[1:]}" for word in listed
                      if word.startswith("!")]  # fmt: skip
            self.paths += [path, *others]
            reads = [reader(one, within) for one in others]
            self.conditions.append((reader(path, within), frozenset(map(folded, listed)), reads))
        held: dict[str, str] = {}
        for path, text in named.items():
            ways = [text] if text in within else text.split("|")
            held[path] = next((one for one in ways if one in within), ways[0])
        self.asked = {path: held[path] for path in ("pass", "label") if path in held}
        """The columns of votes and labels, by their role."""
        self.column = held.get("score") or next(iter(self.asked.values()), "score")
        """The column of the score, for error messages."""
        self.heads = {one.split(".")[0] for one in (self.column, *self.asked.values())}
        self.why = held.get("reason", "")
        """The column of the reason, which a ballot without an answer does not have."""
        self.cells = [(role, self.read[path]) for path, role in _CELLS.items() if path in self.read]
        self._own = [
            (*_OWN[path], self.read[path], keys_of(named[path], within))
            for path in _OWN
            if path in named
        ]
        wanted = [path for path in (*_OF_VOTE, *_CELLS) if path in named]
        self._reads = [self.read[path] for path in wanted]
        texts = [named[path] for path in wanted]
        keys = [keys_of(one, within) for one in texts if one[0] != "=" or " + " in one]
        self._keys = None if None in keys else [*chain.from_iterable(filter(None, keys))]
        """The keys of the cells that a vote depends on; None if it depends on other paths."""
        given = [key for key in self._keys or () if plain and key in within]
        self.text = itemgetter(*given) if given else None
        """Reads these cells of a row that has a text in every column."""
        self.fields = self._of_shape(dict.fromkeys(columns))[2]
        """The fields that only a ballot of such a row may have."""
        self._shapes: dict[tuple[str, ...], tuple[Any, Reader, list[_Own]]] = {}
        self.own = [role for role in OWN_FACTS if role in named]
        self.is_ballot = rule.as_ in {"ballot", "check"}
        self.known: dict[Any, Ballot] = {}
        """The votes so far by these cells, if they depend on nothing else."""
        more = self.conditions or self.own or self.fields or rule.times or "dimension" in named
        self.alone = given[0] if len(given) == 1 and rule.as_ == "ballot" and not more else ""
        """The column of the text on which alone the ballot of such a row depends."""

    def key(self, cells: Cells) -> tuple[Any, list[_Own]]:
        """Return the cells that a vote depends on, and the fields that only its ballot may have."""
        shape = tuple(cells)
        if (found := self._shapes.get(shape)) is None:
            if len(self._shapes) > _MOST_SHAPES:
                self._shapes.clear()
            found = self._shapes[shape] = self._of_shape(cells)
        present, read, own = found
        held = read(cells)
        kinds = (*map(type, held),)
        if dict in kinds or list in kinds:
            held = (*map(repr, held),)
        # 1, 1.0 and true are equal, but not the same vote.
        return (present, held, kinds), own

    def _of_shape(self, cells: Cells) -> tuple[Any, Reader, list[_Own]]:
        own: list[_Own] = []
        for field, of_cell, read, ways in self._own:
            held = None if ways is None else [way for way in ways if way in cells]
            if held is None or len(held) > 1:
                own.append((field, of_cell, read))
            elif held:
                own.append((field, of_cell, itemgetter(held[0])))
        if self._keys is None:
            return None, self._every, own
        present = tuple([key for key in self._keys if key in cells])
        if len(present) > 1:
            return present, itemgetter(*present), own
        return present, lambda cells: (*map(cells.__getitem__, present),), own

    def _every(self, cells: Cells) -> tuple[Any, ...]:
        held = [read(cells) for read in self._reads]
        # Absent and empty cells differ.
        return (*held, *map(cells.__contains__, self.asked.values()))

    def fits(self, cells: Cells) -> bool:
        """Return True if the conditions of the rule hold for a row or an element."""
        for read, words, others in self.conditions:
            value = read(cells)
            word = "" if blank(value) or value in ([], {}) else folded(str(value))
            differs = any(word and word != folded(str(other(cells) or word)) for other in others)
            if word not in words and not differs and not (word and "*" in words):
                return False
        return True

    def get(self, path: str, cells: Cells) -> Any:
        value = self.read[path](cells) if path in self.read else None
        return None if blank(value) else value

    def human(self, cells: Cells) -> Human | None:
        words = tuple(self.get(path, cells) for path in ("label", "pass", "score"))
        if words == (None, None, None):
            return None
        return Human(words, *(self.get(path, cells) for path in ("by", "at", "reason")))
