"""A map: how one kind of table is read.

A map holds paths. ``a.b`` is a column of that name, or ``b`` in the object or the JSON text ``a``.
``a|b`` is the first of two that is filled, ``=text`` is the text itself, ``a.*`` gathers the cells
with that prefix, ``a + b`` joins names, and ``^.a`` is the value around an element or a row.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from reviewdesk.reports.tables.cells import CellError, Cells, blank, name, parsed
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
    notes: list[str] = []
    panel: bool = False
    """Whether the judges certainly form one panel; otherwise names such as tone are questions."""
    ballots: list[dict[str, Any]] = []


def absent(made: TableMap, columns: Sequence[str]) -> str:
    """Return the path of a map's items if a table has none of its columns, else an empty text."""
    paths = [made.item] if isinstance(made.item, str) else made.item
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
        if path.endswith(".*"):
            return lambda cells: _gathered(cells, path[:-2], columns)
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


def _gathered(cells: Cells, stem: str, columns: Sequence[str]) -> Any:
    """Return the cell whose column begins with a stem, several cells as an object, or None."""
    found = cells.get(stem)
    if not isinstance(found, dict):
        start = f"{stem}."
        found = {key[len(start) :]: cells.get(key) for key in columns if key.startswith(start)}
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
