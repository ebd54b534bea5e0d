"""Read a part of an archive again, for the verdicts that its desk keeps, in pieces.

A piece is what one task returns, so that neither a worker nor whoever collects them holds a part.
A worker goes on where it was; another one reads the part from its start and comes to the same.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct

from reviewdesk.desk.archive.parts import BadPart, Reading, opened
from reviewdesk.errors import ReportError, ReviewDeskError
from reviewdesk.scale.crew import Step

if TYPE_CHECKING:
    from reviewdesk.domain.canonical import Written
    from reviewdesk.domain.run.packing import Bar
    from reviewdesk.domain.run.window import VerdictWindow

_MOST_BYTES = 2 << 20
"""About how many bytes of bodies a piece holds: at least one window."""
_MOST_OPEN = 4
"""How many parts a process keeps open between two pieces."""


class KeptPart(Struct, frozen=True):
    """Which verdicts of a part are kept, and under which ids; bits are by place in the file."""

    address: str
    name: str
    sha256: str
    streamed: bool
    kept: bytes
    renamed: bytes
    """The verdicts whose ids other parts have too: theirs becomes ``NAME:ID``."""


class KeptPiece(Struct, frozen=True):
    """Consecutive windows of the kept verdicts; their columns index ``names`` and ``quorums``."""

    windows: list[VerdictWindow]
    names: tuple[str, ...]
    quorums: tuple[Bar, ...]


_Pieces = Generator[KeptPiece, None, None]
_open: dict[tuple[str, str, int], _Pieces] = {}
"""The parts that this process is in the midst of, by archive, address and the piece that follows;
each is taken out while it is read."""
_lock = Lock()


class KeptTask(Struct, frozen=True):
    """The task that reads the kept verdicts of a part for the run with this hash."""

    reading: Reading
    run_hash: str

    def __call__(self, part: KeptPart, start: int) -> Step[KeptPiece | BadPart]:
        """Return the piece at ``start``, which counts pieces, or why the part cannot be read."""
        key = self.run_hash, part.address
        with _lock:
            pieces = _open.pop((*key, start), None)
        try:
            if pieces is None:
                pieces = self._pieces(part)
                for _ in islice(pieces, start):
                    pass
            piece = next(pieces, None)
        except ReviewDeskError as error:
            return Step(BadPart(str(error)))
        if piece is None:
            return Step(KeptPiece([], (), ()))
        self._leave_open((*key, start + 1), pieces)
        return Step(piece, start + 1)

    def _leave_open(self, key: tuple[str, str, int], pieces: _Pieces) -> None:
        """Keep a part open for its next piece; what was left open the longest is closed."""
        with _lock:
            _open[key] = pieces
            closed = [_open.pop(one) for one in list(_open)[:-_MOST_OPEN]]
        for one in closed:
            one.close()

    def _pieces(self, part: KeptPart) -> _Pieces:
        from reviewdesk.domain.run.window import WindowReader
        from reviewdesk.reports import read

        with opened(part.address, self.reading) as source:
            if source.sha256() != part.sha256:
                raise ReportError(
                    part.address, "", "was changed while it was being read", "Start again."
                )
            report = read(source, self.reading.options.reading(), streamed=part.streamed)
            reader = WindowReader(report.header, self.reading.options.identity(), self.run_hash)
            windows: list[VerdictWindow] = []
            size = 0
            for window in reader.windows(_kept(part, report.written())):
                windows.append(window)
                size += sum(map(len, window.bodies))
                if size > _MOST_BYTES:
                    yield KeptPiece(windows, reader.names, reader.quorums)
                    windows, size = [], 0
            if windows:
                yield KeptPiece(windows, reader.names, reader.quorums)


def _kept(part: KeptPart, written: Iterator[Written]) -> Iterator[Written]:
    """Yield the verdicts that are kept, those with ids of other parts renamed."""
    for place, (body, text) in enumerate(written):
        if not _bit(part.kept, place):
            continue
        if _bit(part.renamed, place):
            body["id"] = f"{part.name}:{body['id']}"
            yield body, None
        else:
            yield body, text


def _bit(bits: bytes, place: int) -> bool:
    return place >> 3 < len(bits) and bool(bits[place >> 3] >> (place & 7) & 1)
