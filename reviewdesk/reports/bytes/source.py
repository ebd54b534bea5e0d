"""Where the bytes of a report come from: a regular file, or bytes already in memory."""

import gzip
import hashlib
import io
import os
import shlex
import stat
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import ReportError

DEFAULT_MAX_SIZE = 1 << 30
"""1 GiB; ``--max-size`` sets another bound."""

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 20
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Opening must not block, so that a pipe in place of a file is refused and does not hang."""


@dataclass(frozen=True)
class Source:
    """The bytes of a file and the name a person gave; they can be read several times."""

    name: str
    size: int
    max_size: int = DEFAULT_MAX_SIZE
    _path: Path | None = field(default=None, repr=False)
    _data: bytes = field(default=b"", repr=False)
    stamp: tuple[int, int, int] | None = field(default=None, repr=False)
    """Which file on disk it is, and when that was changed; ``None`` for bytes in memory."""

    @staticmethod
    def from_path(path: str | Path, max_size: int = DEFAULT_MAX_SIZE) -> "Source":
        """Return a regular file as a source; raise ReportError if it is unreadable or too large."""
        name = str(path)
        try:
            found = os.stat(path)  # noqa: PTH116 - a NUL in a name is a ValueError here, not False
            if not stat.S_ISREG(found.st_mode):
                problem = "is not a regular file"
                hint = "Pass a pipe's content with - instead."
                if stat.S_ISDIR(found.st_mode):
                    problem = "is a directory"
                    hint = "Name the report file inside it."
                raise ReportError(show_line(name, 200), "", problem, hint)
            _check_size(name, found.st_size, max_size)
            os.close(os.open(path, _OPEN_FLAGS))
        except (OSError, ValueError) as error:
            raise _read_error(name, error) from error
        return Source(name, found.st_size, max_size, Path(path), b"", _stamp(found))

    @staticmethod
    def from_bytes(name: str, data: bytes, max_size: int = DEFAULT_MAX_SIZE) -> "Source":
        """Return a source for bytes that were already read, such as those of a pipe."""
        name = "stdin" if name == "-" else name
        _check_size(name, len(data), max_size)
        return Source(name, len(data), max_size, None, data)

    @property
    def shown_name(self) -> str:
        return show_line(self.name, 200)

    @property
    def in_command(self) -> str:
        """The name as a command of a shell takes it, and as an error may print it."""
        return "-" if self.name == "stdin" else show_line(shlex.quote(self.name), 200)

    @property
    def map_beside(self) -> str | None:
        """The path of the map that is kept beside the file, ``FILE.map.toml``, if there is one."""
        path = f"{self.name}.map.toml"
        return path if self._path is not None and Path(path).is_file() else None

    def open(self) -> BinaryIO:
        """Open the bytes from the start; gzip is unpacked once and a UTF-8 BOM is skipped."""
        return io.BufferedReader(Feed(self._raw(), self), _BLOCK)

    def open_raw(self) -> BinaryIO:
        """Open the bytes as stored, seekable; ReportError if they are gzip or were changed."""
        raw = self._raw()
        packed = raw.read(len(_GZIP)) == _GZIP
        raw.seek(0)
        if packed:
            raw.close()
            problem = "is an archive packed with gzip"
            raise ReportError(self.shown_name, "", problem, "Unpack it once.")
        return raw

    def sha256(self) -> str:
        """Return the hex SHA-256 of the bytes as stored, before any unpacking."""
        with self._raw() as raw:
            return hashlib.file_digest(raw, "sha256").hexdigest()

    def _raw(self) -> io.BufferedReader | io.BytesIO:
        if self._path is None:
            return io.BytesIO(self._data)
        try:
            raw = os.fdopen(os.open(self._path, _OPEN_FLAGS), "rb")
        except OSError as error:
            raise _read_error(self.name, error) from error
        if _stamp(os.fstat(raw.fileno())) != self.stamp:
            raw.close()
            problem = "was changed while it was being read"
            raise ReportError(self.shown_name, "", problem, "Open it again.")
        return raw


class Blocks(io.RawIOBase):
    """A stream whose ``block`` returns up to some bytes, and none at the end."""

    block: Callable[[int], bytes]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        block = self.block(len(view))
        view[: len(block)] = block
        return len(block)


class Feed(Blocks):
    """The unpacked stream of a source; ``position`` counts the bytes read from the file."""

    def __init__(self, raw: BinaryIO, source: Source) -> None:
        super().__init__()
        self._raw = raw
        self._source = source
        self._given = 0
        self.position = 0
        self.packed = raw.read(2) == _GZIP
        raw.seek(0)
        self._body: BinaryIO | gzip.GzipFile = gzip.GzipFile(fileobj=raw) if self.packed else raw
        try:
            start = self._read(len(_BOM))
        except BaseException:
            self.close()
            raise
        self._start = b"" if start == _BOM else start

    def block(self, size: int) -> bytes:
        """Return more bytes; raise ReportError if they are damaged or unpack to too much."""
        block = self._start or self._read(size)
        self._start = b""
        return block

    def close(self) -> None:
        """Close this stream and the file below it."""
        if not self.closed:
            if self._body is not self._raw:
                self._body.close()
            self._raw.close()
        super().close()

    def _read(self, size: int) -> bytes:
        try:
            block = self._body.read(size)
            self.position = self._raw.tell()
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            problem = "is a damaged or cut off gzip file"
            raise ReportError(self._source.shown_name, "", problem, "Pack it again.") from error
        except OSError as error:
            raise _read_error(self._source.name, error) from error
        self._given += len(block)
        if self._given > self._source.max_size:
            problem = f"unpacks to more than {_size_text(self._source.max_size)}"
            hint = "Raise the bound with --max-size."
            raise ReportError(self._source.shown_name, "", problem, hint)
        return block


def position_of(stream: BinaryIO) -> int:
    """Return how many bytes of the file an opened source has read."""
    feed = getattr(stream, "raw", None)
    return feed.position if isinstance(feed, Feed) else stream.tell()


def _stamp(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_ino, found.st_size, found.st_mtime_ns


def _check_size(name: str, size: int, max_size: int) -> None:
    if size > max_size:
        problem = f"is {_size_text(size)}, larger than the bound of {_size_text(max_size)}"
        hint = f"Raise the bound with --max-size {-(-size >> 20)}M."
        raise ReportError(show_line(name, 200), "", problem, hint)


def _read_error(name: str, error: OSError | ValueError) -> ReportError:
    shown = show_line(name, 200)
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return ReportError(shown, "", "there is no such file", "Check the path.")
    if isinstance(error, PermissionError):
        return ReportError(shown, "", "may not be read by you", "Check its permissions.")
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return ReportError(shown, "", f"cannot be read ({show_line(reason, 200)})")


def _size_text(size: int) -> str:
    amount = float(size)
    for unit in ("bytes", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.4g} {unit}"
        amount /= 1024
    return f"{amount:.4g} GiB"
