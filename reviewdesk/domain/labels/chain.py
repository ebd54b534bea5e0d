"""The events of a chain as they are exchanged between desks, and the checks on each of them.

A chain is what one reviewer did on one desk. Its events are numbered, each holds the hash of the
one before it, and each carries a counter that is higher than any that its desk had seen.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import pairwise
from typing import Any

from msgspec import DecodeError, Struct, ValidationError, convert
from msgspec.json import decode

from reviewdesk.domain.records import LONGEST, ChainEvent, event_hash
from reviewdesk.domain.verdict import canonical_json

DESK = "@desk"
"""The chain of what the desk itself did: runs that were loaded, removed or derived again, and
re-runs. No reviewer's name begins with ``@``."""
AGENT = "@agent"
"""The chain of what programs suggest. Its events are not labels and are kept apart from them."""
STANDING = ("label", "note", "defer", "tags", "mark", "repeat", "adjudicate")
"""The kinds of event that stand until undone; the view ``standing_events`` selects the same."""
COUNTED = "counted"
"""The kind of the event that assigns counters to the events that carry none."""

_LEAP = 1 << 31
"""The most by which a counter may exceed the one before it: more events than any team makes."""
HASH = re.compile(r"[0-9a-f]{64}")


class ChainProblem(ValueError):
    """A problem with an event of a chain; ``seq`` is 0 if the event is not known."""

    def __init__(self, seq: int, text: str) -> None:
        self.seq = seq
        self.text = text
        super().__init__(f"event {seq}: {text}" if seq else text)


class Covered(Struct, frozen=True):
    """The events of a chain that carry no counters, and the counters assigned to them.

    They end with the event ``seq``, whose hash is ``hash``. Each of the ``places`` is the number of
    an event and its counter; the events up to the next place continue its count.
    """

    seq: int
    hash: str
    places: tuple[tuple[int, int], ...]

    def counter(self, seq: int) -> int | None:
        """Return the counter of an event, ``None`` if it carries its own."""
        if seq > self.seq:
            return None
        start, first = max(place for place in self.places if place[0] <= seq)
        return first + seq - start


def covered(detail: Mapping[str, Any]) -> dict[str, Covered]:
    """Read what an event ``counted`` covers, by reviewer; raise ValueError if it is malformed."""
    try:
        made = convert(detail["chains"], dict[str, Covered])
    except (KeyError, ValidationError) as error:
        raise ValueError("its counters do not rise") from error
    for one in made.values():
        for (start, counter), (end, following) in pairwise((*one.places, (one.seq + 1, _LEAP))):
            if not (start < end and counter > 0 and counter + end - start <= following):
                raise ValueError("its counters do not rise")
        if not one.places or one.places[0][0] != 1:
            raise ValueError("its counters do not begin with the first event")
    return made


class ChainCheck:
    """Checks the hashes, order and counters of the events of one chain, one after the other."""

    def __init__(self, desk: str, reviewer: str, older: Covered | None = None) -> None:
        self._desk = desk
        self._reviewer = reviewer
        self.older = older
        self.seq = 0
        self.hash = ""
        self.counter = 0

    def add(self, event: ChainEvent) -> None:
        """Check the next event; ChainProblem if it does not follow here as it was written."""
        if (event.desk, event.reviewer) != (self._desk, self._reviewer):
            raise ChainProblem(event.seq, "belongs to another chain")
        if event.seq != self.seq + 1:
            raise ChainProblem(event.seq, f"stands in the place of event {self.seq + 1}")
        if event_hash(event.row()) != event.hash:
            raise ChainProblem(event.seq, "was changed after it was written")
        if event.prev_hash != self.hash:
            raise ChainProblem(event.seq, "does not follow the event before it")
        older = self.older
        given = None if older is None else older.counter(event.seq)
        stated: Any = checked_detail(event).get("counter")
        if given is None and stated is None:
            more = "and the chain @desk of its desk covers no such event"
            raise ChainProblem(event.seq, f"has no counter, {more}")
        if given is not None and stated is not None:
            raise ChainProblem(event.seq, "has a counter beside the one that its desk gave it")
        if older and event.seq == older.seq and event.hash != older.hash:
            raise ChainProblem(event.seq, "is not the event that its desk gave a counter")
        counter: int = stated if given is None else given
        if not self.counter < counter <= self.counter + _LEAP:
            raise ChainProblem(event.seq, f"its counter {counter} does not follow {self.counter}")
        self.seq = event.seq
        self.hash = event.hash
        self.counter = counter


# What an event may hold. Nothing from another desk is kept unless it fits.

_TEXT = (str,)
_WHOLE = (int,)
_DETAIL: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("counter", "count", "together", "of", "calls", "answered", "done", "left",
                     "given_up", "first", "plan", "pid", "rules"), _WHOLE),
    **dict.fromkeys(("note", "once", "import", "was", "name", "content", "batch"), _TEXT),
    **dict.fromkeys(("on", "imported", "seen", "unseen", "stopped", "masked", "closed"), (bool,)),
    **dict.fromkeys(("blind", "told"), (bool, type(None))),
    **dict.fromkeys(("at", "revealed_at", "again"), (str, type(None))),
    **dict.fromkeys(("kept", "flips", "columns", "chains"), (dict,)),
    "hosts": (list,), "tags": (list, str), "added": (str, list),
    "scope": _TEXT,
}  # fmt: skip
"""The types of the facts that are read later; other facts are kept as they are."""
_NEEDS = {
    "tags": ("tags",), "mark": ("on",), "note": ("note",), "undo": ("was", "count"),
    "redo": ("was", "count"), COUNTED: ("chains",),
}  # fmt: skip


def checked(values: Mapping[str, Any], seq: int) -> ChainEvent:
    """Build event ``seq`` from values of another desk; raise ChainProblem if one is wrong."""
    try:
        event = convert(values, ChainEvent)
        timed = datetime.fromisoformat(event.at).tzinfo is not None
    except ValidationError as error:
        _, _, name = str(error).partition("`$.")
        why = f"its {name[:-1]} is not valid" if name else "has other fields than an event"
        raise ChainProblem(seq, why) from error
    except ValueError:
        timed = False
    own = event.reviewer in {DESK, AGENT}
    labelled = event.kind in {"label", "repeat", "adjudicate"}
    wrong = {
        "at": not timed,
        "reviewer": event.reviewer.startswith("@") and not own,
        "kind": own and event.kind in STANDING,
        "item": event.item is None and event.kind in STANDING,
        "label": event.label not in {"pass", "fail", "unsure", *(() if labelled else (None,))},
        "action": event.action > event.seq,
        "target": (event.target is None) == (event.kind in {"undo", "redo"})
        or (event.target or 0) >= event.seq,
    }
    for name in (name for name, found in wrong.items() if found):
        raise ChainProblem(seq, f"its {name} is not valid")
    return event


def checked_detail(event: ChainEvent) -> dict[str, Any]:
    """Return the facts of an event; raise ChainProblem if one is of a wrong kind."""
    detail = json_object(event.detail, event.seq)
    for name, value in detail.items():
        if type(value) not in _DETAIL.get(name, (type(value),)):
            raise ChainProblem(event.seq, f"its {name} has the wrong type")
    texts = [*detail.get("tags", ()), *detail.get("hosts", ())]
    wrong = not all(isinstance(text, str) for text in texts)
    # The event of a run holds a hash of its tags under this name.
    wrong = wrong or (event.kind in STANDING and isinstance(detail.get("tags"), str))
    wrong = wrong or not all(type(n) is int for n in detail.get("flips", {}).values())
    needed = _NEEDS.get(event.kind, ())
    if event.kind == "rerun_ended" and "left" in detail and "given_up" not in detail:
        needed = ("done", "flips")
    if wrong or any(name not in detail for name in needed):
        raise ChainProblem(event.seq, f"does not say what a {event.kind} says")
    return detail


def json_object(text: str, seq: int) -> dict[str, Any]:
    """Read an object of strict JSON; raise ChainProblem for the event ``seq`` if it is not one."""
    try:
        found = decode(text)
    except (DecodeError, RecursionError) as error:
        raise ChainProblem(seq, "is not JSON") from error
    if not isinstance(found, dict):
        raise ChainProblem(seq, "is not an object")
    return found


SCHEMA = "reviewdesk.chain/1"
NEWER = "the file was written by a newer reviewdesk"
LINE = 2 * LONGEST
_MARK = SCHEMA.partition("/")[0] + "/"
_PLAIN = re.compile(r"[a-z0-9_-]")
_NAME = 150
FILE = re.compile(r"[0-9a-f]{32}/by-[a-z0-9_%~-]{1,250}\.jsonl")


class ChainName(Struct, frozen=True):
    """Whose chain a file holds."""

    desk: str
    reviewer: str


def header_line(name: ChainName) -> bytes:
    header = {"schema": SCHEMA, "desk": name.desk, "reviewer": name.reviewer}
    return canonical_json(header) + b"\n"


def event_line(event: ChainEvent) -> bytes:
    item = None if event.item is None else event.item.hex()
    return canonical_json({**event.row(), "item": item}) + b"\n"


def read_header(line: bytes) -> ChainName:
    """Read the first line of a chain's file; ChainProblem for another kind or a newer version."""
    values = json_object(_text(line, 0), 0)
    schema = values.pop("schema", None)
    found = set(values)
    if isinstance(schema, str) and schema.startswith(_MARK) and schema != SCHEMA:
        raise ChainProblem(0, NEWER)
    texts = all(isinstance(value, str) for value in values.values())
    if schema != SCHEMA or found != {"desk", "reviewer"} or not texts:
        raise ChainProblem(0, f"the file does not begin as {SCHEMA} does")
    return ChainName(**values)


def read_events(lines: Iterable[bytes]) -> Iterator[ChainEvent]:
    """Yield the events of the lines after the first; ChainProblem for a broken or cut-off line."""
    for seq, line in enumerate(lines, start=1):
        values = json_object(_text(line, seq), seq)
        item = values.get("item")
        if item is not None:
            if not isinstance(item, str) or not HASH.fullmatch(item):
                raise ChainProblem(seq, "its item is not valid")
            values["item"] = bytes.fromhex(item)
        yield checked(values, seq)


def _text(line: bytes, seq: int) -> str:
    if len(line) > LINE:
        raise ChainProblem(seq, "is too long")
    if not line.endswith(b"\n"):
        raise ChainProblem(seq, "the file is cut off in the middle of a line")
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise ChainProblem(seq, "is not UTF-8") from error


def file_name(name: ChainName) -> str:
    """Return a chain's file in its desk's folder; no two names differ in case alone."""
    text = "".join(
        char if _PLAIN.fullmatch(char) else "".join(f"%{byte:02x}" for byte in char.encode())
        for char in name.reviewer
    )
    if len(text) > _NAME:
        text = f"{text[:_NAME]}~{hashlib.sha256(name.reviewer.encode()).hexdigest()}"
    return f"{name.desk}/by-{text}.jsonl"
