"""A map: how one kind of table is read, and the places of a row that its rules name.

A map holds paths. ``a.b`` is a column of that name, or ``b`` in the object or the JSON text ``a``.
``a|b`` is the first of two that is filled, ``=text`` is the text itself, ``a.*`` gathers the cells
with that prefix, ``a + b`` joins names, and ``^.a`` is the value around an element or a row.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, TypeAlias

from msgspec import Struct, convert
from msgspec.structs import replace

from reviewdesk.domain.verdict import folded
from reviewdesk.reports.mapping import values
from reviewdesk.reports.tables.cells import (
    CellError,
    Cells,
    blank,
    likely_amount,
    likely_number,
    likely_whole,
    name,
    parsed,
)
from reviewdesk.reports.wording import must_be

Words: TypeAlias = str | list[str]


def _key(field_name: str) -> str:
    """Return the key of a field in a map's file: ``pass`` for ``pass_``."""
    return field_name.rstrip("_")


class BallotRule(Struct, frozen=True, forbid_unknown_fields=True, rename=_key):
    """Where the ballots of a row are. For each place, the first rule that fits counts.

    The place is the row itself, each element of the list or object ``each``, or each of
    ``columns``, in whose paths ``*`` stands for the part of the name at the ``*``.
    """

    each: str = ""
    """A list or an object. ``a + b`` are the elements of two that belong together, by place or key,
    as objects with the keys ``a`` and ``b``; ``a.*.b`` is ``b`` in each element of ``a``."""
    columns: Words = ""
    except_: Words = ""
    """What stands for the ``*`` of ``columns`` that are not judges; it may hold a ``*`` too."""
    where: dict[str, Words] = {}
    """The words that paths must hold: ``*`` is any word, ``!word`` any other word, an empty text no
    word, and ``!=path`` a word that differs from that of another cell."""
    as_: str = "ballot"
    """``ballot``, ``check``, ``person`` for a label, ``none`` for no ballot, ``nothing`` for a row
    that is not read, or ``refused`` for a table that cannot be read; ``note`` is the reason and,
    after a ``;``, what to do."""
    note: str = ""
    judge: str = ""
    score: str = ""
    pass_: str = ""
    label: str = ""
    reason: str = ""
    error: str = ""
    failed: str = ""
    """A cell that is true if the judge failed."""
    status: str = ""
    dimension: str = ""
    model: str = ""
    vendor: str = ""
    confidence: str = ""
    weight: str = ""
    epoch: str = ""
    by: str = ""
    at: str = ""
    latency_ms: str = ""
    cost_usd: str = ""
    tokens_in: str = ""
    tokens_out: str = ""
    certainty: str = ""
    """How sure the judge is of its vote; the score follows from it."""
    latency_s: str = ""
    temperature: str = ""
    raw: str = ""
    raw_score: str = ""
    """A score as the judge gave it, in addition to one from 0 to 1."""
    role: str = ""
    decision: str = ""
    """The decision that the table states on the item or, in a rule, on its question."""
    times: str = ""
    """The number of votes that are this ballot, less those in ``less``."""
    less: str = ""
    output: str = ""
    """The response or, in a rule, that of its question alone."""
    known: list[str] = []
    """Keys that are not answers and need no place."""


class TableMap(BallotRule, frozen=True, forbid_unknown_fields=True, rename=_key):
    """How one kind of table is read. The paths for ballots here hold for every rule."""

    name: str = ""
    about: str = ""
    origin: dict[str, str] = {}
    """The tool's ids that are kept, by name."""
    signature: list[str] = []
    """Columns by which the kind is recognised."""
    unless: list[str] = []
    """Keys of another kind of file that also has all the columns of this kind."""
    rows: str = ""
    """The key of the list of rows, for a document with several lists."""
    item: Words = ""
    """Paths to try for the item's id; ``a + b`` joins the ids that are filled."""
    title: str = ""
    test: str = ""
    suite: str = ""
    subject: str = ""
    """The agent or the version that is judged."""
    tags: str = ""
    threshold: str = ""
    input: Words = ""
    """A list of paths joins texts and earlier turns of a conversation."""
    conversation: str = ""
    """Messages or spans; their last answer is the output if no column holds one."""
    alternative: str = ""
    reference: str = ""
    generator: str = ""
    rival: str = ""
    """The model that wrote the alternative."""
    strategy: str = ""
    agreement: str = ""
    escalation: str = ""
    """Why a person should review the item; reasons in ``words.quiet`` do not count."""
    case_name: str = ""
    attempt: str = ""
    row_error: str = ""
    """Why the response itself is missing."""
    rubric: str = ""
    human: str = ""
    human_by: str = ""
    human_at: str = ""
    words: dict[str, list[str]] = {}
    """The words that mean ``pass``, ``fail`` and ``error`` in this kind of table."""
    scale: list[float] | None = None
    """The worst and the best score; the best one may be the lower one."""
    scales: dict[str, list[float]] = {}
    """The scales of questions that have one of their own, by their names."""
    notes: list[str] = []
    panel: bool = False
    """Whether the judges certainly form one panel; otherwise names such as tone are questions."""
    ballots: list[dict[str, Any]] = []


def by_names(
    made: TableMap, judges: Sequence[str], criteria: Sequence[str], *, others: bool = False
) -> TableMap:
    """Return a map whose judges of some names form one panel, and those of others are criteria.

    If ``judges`` are named, the answers of others are read only if ``others`` is true.
    """
    rules = []
    for rule in made.ballots or [{}]:
        usual = "=*" if rule.get("columns", made.columns) else ""
        who = rule.get("judge", made.judge) or usual
        if not who or rule.get("as", made.as_) not in {"ballot", "check"}:
            rules.append(rule)
            continue
        asked = rule.get("dimension", made.dimension)
        one = {"dimension": "" if asked == who else asked}
        for names, about in ((criteria, {"dimension": who}), (judges, one)):
            where = rule.get("where", made.where) | {who: [*names]}
            rules += [rule | {"as": "ballot", "where": where} | about] if names else []
        rules.append(rule | {"as": "none"} if judges and not others else rule)
    # It decides on the item, and on none of the questions.
    decided = made.decision if judges else ""
    return replace(made, ballots=rules, decision=decided, panel=made.panel or bool(judges))


def absent(item: Words, columns: Sequence[str]) -> str:
    """Return the first path to items if a table has none of their columns, else an empty text."""
    paths = [item] if isinstance(item, str) else item
    ways = [one for path in paths for one in re.split(r" \+ |\|", path)]
    heads = {"^", "@key", *columns, *(one.split(".")[0] for one in columns)}
    known = any(one[:1] == "=" or {one, one.split(".")[0]} & heads for one in ways)
    return "" if known else ways[0]


Reader: TypeAlias = Callable[[Cells], Any]


def reader(path: str, columns: Sequence[str] = ()) -> Reader:
    """Return a function that reads the first filled cell of a path from a row."""
    if path in columns:
        return _one_reader(path, columns)
    if " + " in path:
        parts = [reader(part, columns) for part in path.split(" + ")]
        return lambda cells: ": ".join(filter(None, (name(read(cells)) for read in parts)))
    ways = [one for one in path.split("|") if one]
    if len(ways) == 1:
        return _one_reader(ways[0], columns)
    # Most paths are plain keys, which need no call.
    readers = [
        (one, _one_reader(one, columns) if one.startswith("=") or "." in one else None)
        for one in ways
    ]

    def first(cells: Cells) -> Any:
        for key, read in readers:
            value = cells.get(key) if read is None else read(cells)
            if value is not None and not blank(value):
                return value
        return None

    return first


def _one_reader(path: str, columns: Sequence[str]) -> Reader:
    if path not in columns:
        if path.startswith("="):
            return lambda _cells: path[1:]
        start, star, end = path.partition(".*")
        if star:
            return lambda cells: _gathered(cells, start, end, columns)
    # A name with a point may also name a key inside an object.
    return (lambda cells: at_path(cells, path)) if "." in path else (lambda cells: cells.get(path))


def at_path(held: Any, path: str) -> Any:
    """Return the value at a path in an object, a list or a JSON text, or None."""
    if type(held) is str:
        held = parsed(held)
    if type(held) is list:
        step, _, rest = path.partition(".")
        if held and type(held[0]) is dict and held[0].keys() == {"key", "value"}:
            return at_path(_of_pairs(held), path)
        if not step.lstrip("-").isdecimal() or not -len(held) <= int(step) < len(held):
            return None
        return at_path(held[int(step)], rest) if rest else held[int(step)]
    if type(held) is not dict:
        return None
    if path == "@last":
        return [*held.values()][-1] if held else None
    if not blank(value := held.get(path)):
        return value
    end = path.find(".")
    while end > 0:
        inner = held.get(path[:end])
        if inner is not None and (value := at_path(inner, path[end + 1 :])) is not None:
            return value
        end = path.find(".", end + 1)
    return None


def _of_pairs(held: list[Any]) -> dict[str, Any]:
    """Return the object that a list of keys and typed values is, as OTLP writes attributes."""
    return {
        one.get("key"): next(iter(value.values()), None)
        if isinstance(value := one.get("value"), dict)
        else value
        for one in held
    }


def elements(cells: Cells, each: str, columns: Sequence[str]) -> Iterator[tuple[Cells, str]]:
    """Yield the elements that ``each`` of a rule names in a row, each with its path.

    An element is an object with its own keys, its name or number as ``@key``, its value as
    ``@value``, and what is around it as ``^``.
    """
    if ".*" in each:
        outer, _, inner = each.partition(".*")
        for scope, place in elements(cells, outer, columns):
            if not inner and not isinstance(scope["@value"], dict | list):
                yield scope, place
                continue
            for one, path in elements(scope, f"@value{inner}", ()):
                yield one, path.replace("@value", place, 1)
        return
    paths = each.split(" + ")
    ways = (parsed(at_path(cells, one)) for one in paths[0].split("|"))
    held = next((one for one in ways if not blank(one)), None)
    if len(paths) > 1 and isinstance(held, dict | list):
        held = _side_by_side({one: parsed(at_path(cells, one)) for one in paths})
    if blank(held):
        start = f"{each}."
        held = {
            key[len(start) :]: cells.get(key)
            for key in columns
            if key.startswith(start) and not blank(cells.get(key))
        }
    if not isinstance(held, dict | list):
        kind = "an object in JSON" if isinstance(held, str) else "an object"
        raise CellError(each, must_be(kind, held))
    for key, one in held.items() if isinstance(held, dict) else enumerate(held):
        own = one if isinstance(one, dict) else {}
        yield {"@key": key, "@value": one, "^": cells, **own}, f"{each}.{key}"


def _side_by_side(held: Mapping[str, Any]) -> dict[Any, dict[str, Any]]:
    """Return the elements of several lists or objects that belong together, by place or key."""
    listed = {
        path.rpartition(".")[2]: dict(enumerate(one)) if isinstance(one, list) else one
        for path, one in held.items()
    }
    return {
        key: {name: one.get(key) for name, one in listed.items() if isinstance(one, dict)}
        for key in next(iter(listed.values()))
    }


def _gathered(cells: Cells, stem: str, end: str, columns: Sequence[str]) -> Any:
    """Return the cell whose column has a start and an end, several as an object, or None."""
    found = cells.get(stem)
    if end or not isinstance(found, dict):
        start = f"{stem}."
        named = [key for key in columns if key.startswith(start) and key.endswith(end)]
        found = {key[len(start) :]: cells.get(key) for key in named}
    filled = {key: one for key, one in found.items() if not blank(one)}
    return next(iter(filled.values())) if len(filled) == 1 else filled or None


def keys_of(path: str, columns: Sequence[str]) -> list[str] | None:
    """Return the keys of which a path is the first filled one; None for any other path."""
    keys = [path] if path in columns else path.split("|")
    other = any("." in key or " + " in key or key.startswith("=") for key in keys)
    return None if other else keys


def names_in(sign: str, cells: Cells, reads: Sequence[Reader], most: int | None = None) -> str:
    """Return the names in some cells, each cut after ``most`` characters, with a sign between."""
    found = [name(read(cells))[:most] for read in reads]
    return found[0] if len(found) == 1 else sign.join(filter(None, found))


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

    def humans(self, cells: Cells) -> list[Human]:
        words = tuple(self.get(path, cells) for path in ("label", "pass", "score"))
        if words == (None, None, None):
            return []
        return [Human(words, *(self.get(path, cells) for path in ("by", "at", "reason")))]
