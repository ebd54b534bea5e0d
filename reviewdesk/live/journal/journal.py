"""Store the replies of a run on disk, so that a resumed run continues and pays for nothing twice.

The journal is a JSON Lines file beside the report: first the commitment made before the first
request, then every exchange as it came. Lines are only ever appended; a resumed run with another
commitment appends that one too. A vendor's batch has a line before it is submitted, one with the
vendor's id of it, and one when it is over.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from msgspec import Struct
from msgspec.structs import fields, replace

from reviewdesk.errors import JournalError
from reviewdesk.live.journal.append import Appender
from reviewdesk.live.records import Call, Exchange
from reviewdesk.system.disk import sync_folder

FORMAT = "reviewdesk.replies/1"
_BEGINS = f'{{"journal":"{FORMAT}"'.encode()

_TYPES: dict[str, tuple[type, ...]] = {
    "call": (str,), "attempt": (int,), "nonce": (str,), "at": (str,), "ms": (int, float),
    "status": (int, type(None)), "body": (str,), "headers": (dict,), "problem": (str, type(None)),
}  # fmt: skip
_PARTS = frozenset(field.name for field in fields(Exchange))


class ReplyStore(Protocol):
    """Where a run keeps its exchanges, so that no answer is paid for twice."""

    def reply(self, key: str) -> Exchange | None:
        """Return the newest stored exchange of a call."""

    def keep(self, call: Call, exchange: Exchange, usd: float | None = None) -> None:
        """Queue an exchange for writing; it is on disk once ``settled`` has returned."""

    async def settled(self) -> None:
        """Return when everything kept so far is on disk."""


class Commitment(Struct, frozen=True):
    """What is fixed before the first request: the panel, its hash and rule, and the cases."""

    version: str
    panel: dict[str, Any]
    panel_hash: str
    rule: dict[str, Any]
    cases_sha256: str


class CommitTimes(Struct, frozen=True):
    """The run's id, when it was started, and when its present commitment was written."""

    run_id: str
    started_at: str
    committed_at: str


class VendorBatch(Struct, frozen=True):
    """Calls that were submitted to a vendor together; ``nonces`` are what each answer repeats."""

    name: str
    juror: str
    at: str
    nonces: Mapping[str, str]
    """The nonce of each call, by the call's key."""
    id: str | None = None
    """The vendor's id; ``None`` if it is not known whether the vendor has the batch."""


@dataclass(slots=True)
class _JournalContent:
    """The content of a journal file."""

    starts: list[dict[str, Any]] = field(default_factory=list)
    exchanges: dict[bytes, int] = field(default_factory=dict)
    """Offset of the newest exchange of each call, by a prefix of the call's key."""
    batches: dict[str, VendorBatch] = field(default_factory=dict)
    """The batches that are not over, by name."""
    spent: float = 0.0
    whole: int = 0
    torn: bytes = b""


class Journal:
    """The journal of one run, locked by this process until it is closed."""

    def __init__(self, path: Path) -> None:
        """Open the journal and read it, or create it.

        Raises:
            JournalError: it is damaged, locked by another process, or cannot be written.
        """
        self.path = path
        self.notes: list[str] = []
        self._end = Appender(path)
        self._stream = path.open("rb")
        try:
            self._found = _read(self._stream, path)
            self._batch_of = {
                _short_key(key): one.name for one in self.batches for key in one.nonces
            }
            self._mend()
        except BaseException:
            self.close()
            raise

    @property
    def spent(self) -> float:
        """The booked cost, in US dollars, of the exchanges on disk when the journal was opened."""
        return self._found.spent

    @property
    def batches(self) -> tuple[VendorBatch, ...]:
        """The vendors' batches that are not over."""
        return tuple(self._found.batches.values())

    def batch_of(self, key: str) -> VendorBatch | None:
        """Return the batch that was open when the journal was opened, and that holds the call."""
        return self._found.batches.get(self._batch_of.get(_short_key(key), ""))

    def submit(self, batch: VendorBatch) -> None:
        """Store a batch, which is on disk on return, before it is submitted."""
        about = {"juror": batch.juror, "at": batch.at, "nonces": dict(batch.nonces)}
        self._end.add(_line({"batch": batch.name, **about}))
        self._end.flush()
        self._found.batches[batch.name] = batch

    def submitted(self, batch: VendorBatch, ident: str) -> None:
        """Store the vendor's id of a batch, which is on disk on return."""
        self._end.add(_line({"batch": batch.name, "id": ident}))
        self._end.flush()
        self._found.batches[batch.name] = replace(batch, id=ident)

    def over(self, batch: VendorBatch) -> None:
        """Store that a batch holds nothing that is waited for, once its answers are stored."""
        self._end.add(_line({"batch": batch.name, "over": True}))
        self._end.flush()
        self._found.batches.pop(batch.name, None)

    def commit(
        self, commitment: Commitment, at: str, consent: dict[str, Any] | None = None
    ) -> CommitTimes:
        """Write the run's commitment unless it is there, and return the run's id and times.

        The commitment is on disk on return. ``consent`` is stored with it: how consent was given,
        and to what.
        """
        committed = {name: getattr(commitment, name) for name in Commitment.__struct_fields__}
        wanted = json.loads(json.dumps(committed))
        starts = self._found.starts
        start = next((known for known in starts if known | wanted == known), None)
        if start is None:
            run = hashlib.sha256(json.dumps([committed, at]).encode()).hexdigest()[:16]
            start = {"journal": FORMAT, "run_id": run, "at": at, **committed}
            start |= {"consent": consent} if consent else {}
            self._end.add(_line(start))
            self._end.flush()
            sync_folder(self.path.parent)
        first = starts[0] if starts else start
        return CommitTimes(first["run_id"], first["at"], start["at"])

    def reply(self, key: str) -> Exchange | None:
        """Return the newest exchange of a call that was on disk when the journal was opened."""
        at = self._found.exchanges.get(_short_key(key))
        if at is None:
            return None
        self._stream.seek(at)
        line = json.loads(self._stream.readline())
        return _exchange(line) if line["call"] == key else None

    def keep(self, call: Call, exchange: Exchange, usd: float | None = None) -> None:
        """Queue an exchange for writing; it is on disk once ``settled`` has returned."""
        about = {"case": call.case, "juror": call.juror.name, "seat": call.seat, "usd": usd}
        stored = {name: getattr(exchange, name) for name in _TYPES}
        self._end.add(_line({**about, **stored, "headers": dict(exchange.headers)}))

    async def settled(self) -> None:
        """Return when everything kept so far is on disk."""
        await self._end.settled()

    def close(self) -> None:
        """Write what is queued and close the journal; an empty file is deleted."""
        self._stream.close()
        if self._end.empty:
            self.path.unlink(missing_ok=True)
        self._end.close()

    def _mend(self) -> None:
        """Cut off an incomplete last line, and keep its text in a line marked ``torn``."""
        found = self._found
        if not found.torn:
            return
        self._end.cut(found.whole)
        self.notes.append(f"{self.path}: the last line was cut short by a stop and is left out")
        if found.starts:
            self._end.add(_line({"torn": found.torn.decode("utf-8", "backslashreplace")}))
            self._end.flush()


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, allow_nan=False, separators=(",", ":")).encode()


def _exchange(record: dict[str, Any]) -> Exchange:
    return Exchange(**{name: record[name] for name in _PARTS if name in record})


def exchange_of(data: bytes) -> Exchange | None:
    """Return the exchange that JSON from outside states, or ``None`` if it states none."""
    record = _record(data)
    if record is None or "call" not in record:
        return None
    return _exchange(record) if all(map(_is_text, record["headers"].values())) else None


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _short_key(key: str) -> bytes:
    """Return half of a key, which tells millions of calls apart and takes half the memory."""
    return bytes.fromhex(key[:32])


def _read(stream: BinaryIO, path: Path) -> _JournalContent:
    """Read the whole journal line by line.

    Raises:
        JournalError: a line is not one that a journal holds.
    """
    found = _JournalContent()
    for number, line in enumerate(stream, start=1):
        if not line.startswith(_BEGINS[: len(line)]) and number == 1:
            raise _damage_error(path, number, f"must begin with {FORMAT}")
        if not line.endswith(b"\n"):
            found.torn = line
            break
        record = _record(line)
        if record is None:
            raise _damage_error(path, number, "is not what was stored here")
        _add_record(found, record)
        found.whole += len(line)
    return found


def _damage_error(path: Path, line: int, problem: str) -> JournalError:
    hint = "Move the file away to ask everything anew, or name another -o."
    return JournalError(f"{path}: line {line}: {problem}", hint)


def _record(line: bytes) -> dict[str, Any] | None:
    """Parse a line, or return ``None`` if it is not one that a journal holds."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    if "call" in record:
        fits = all(isinstance(record.get(name), types) for name, types in _TYPES.items())
        return record if fits and _is_key(record["call"]) else None
    if "journal" in record:
        return (
            record if all(isinstance(record.get(name), str) for name in ("run_id", "at")) else None
        )
    if "batch" in record:
        return record if _is_batch(record) else None
    return record if isinstance(record.get("torn"), str) else None


def _is_batch(record: dict[str, Any]) -> bool:
    """Return True if a line tells of a vendor's batch: what is in it, its id, or its end."""
    if not isinstance(record["batch"], str):
        return False
    nonces = record.get("nonces")
    if nonces is None:
        return isinstance(record.get("id"), str) or record.get("over") is True
    return (
        isinstance(nonces, dict)
        and all(_is_key(key) and isinstance(nonce, str) for key, nonce in nonces.items())
        and all(isinstance(record.get(name), str) for name in ("juror", "at"))
    )


def _is_key(text: str) -> bool:
    return len(text) == 64 and not set(text) - set("0123456789abcdef")


def _add_record(found: _JournalContent, record: dict[str, Any]) -> None:
    if "journal" in record:
        found.starts.append(record)
    if "batch" in record:
        _add_batch(found.batches, record)
    if "call" not in record:
        return
    cost = record.get("usd")
    found.spent += cost if isinstance(cost, int | float) else 0.0
    found.exchanges[_short_key(record["call"])] = found.whole


def _add_batch(batches: dict[str, VendorBatch], record: dict[str, Any]) -> None:
    name = record["batch"]
    if nonces := record.get("nonces"):
        batches[name] = VendorBatch(name, record["juror"], record["at"], nonces)
    elif record.get("over"):
        batches.pop(name, None)
    elif name in batches:
        batches[name] = replace(batches[name], id=record.get("id"))
