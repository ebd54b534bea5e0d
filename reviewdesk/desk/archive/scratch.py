"""What is known of an archive's parts while it is put together, in files: memory is flat."""

from __future__ import annotations

import marshal
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reviewdesk.desk.archive.kept import KeptPiece
    from reviewdesk.desk.archive.parts import PartSummary


class Scratch:
    """The files of one archive, in a folder that goes away with it; parts are named by number."""

    def __init__(self, folder: Path) -> None:
        """Write into a folder that is there, and that nobody else can write into."""
        self._folder = folder

    def put_summary(self, part: int, summary: PartSummary) -> None:
        """Keep what is known of a part."""
        self._path(part, "summary").write_bytes(pickle.dumps(summary))

    def summary(self, part: int) -> PartSummary:
        """Return what is known of a part."""
        found: PartSummary = pickle.loads(self._path(part, "summary").read_bytes())  # noqa: S301 - written above
        return found

    def put_piece(self, part: int, piece: KeptPiece) -> None:
        """Append a piece to those of a part."""
        with self._path(part, "pieces").open("ab") as file:
            pickle.dump(piece, file)

    def pieces(self, part: int) -> Iterator[KeptPiece]:
        """Yield the pieces of a part in their order."""
        path = self._path(part, "pieces")
        if not path.exists():
            return
        with path.open("rb") as file:
            while file.peek(1):
                yield pickle.load(file)  # noqa: S301 - written above

    def drop(self, part: int) -> None:
        """Delete what is known of a part and its pieces."""
        self._path(part, "summary").unlink(missing_ok=True)
        self.drop_pieces(part)

    def drop_pieces(self, part: int) -> None:
        """Delete the pieces of a part."""
        self._path(part, "pieces").unlink(missing_ok=True)

    def put_rows(self, bucket: int, rows: bytes) -> None:
        """Append hashes of ids to a bucket."""
        with self._path(bucket, "ids").open("ab") as file:
            file.write(rows)

    def clear_rows(self) -> None:
        """Delete all buckets."""
        for path in self._folder.glob("*.ids"):
            path.unlink()

    def rows(self, bucket: int) -> bytes:
        """Return the hashes in a bucket."""
        path = self._path(bucket, "ids")
        return path.read_bytes() if path.exists() else b""

    def _path(self, number: int, kind: str) -> Path:
        return self._folder / f"{number}.{kind}"


def ids_of(summary: PartSummary) -> list[str]:
    """Return the ids of a part's verdicts, in file order."""
    return [name for some in summary.ids for name in marshal.loads(some)]  # noqa: S302 - by ours
