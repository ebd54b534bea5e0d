"""Read zip members as bounded streams: nothing is extracted, and no name is used as a path."""

import io
import struct
import zipfile
import zlib
from operator import attrgetter
from typing import Any, BinaryIO

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import InputFileError
from reviewdesk.reports.bytes.source import Blocks
from reviewdesk.reports.bytes.strict_json import Fail

MAX_MEMBERS = 200_000
_MAX_READ = 16 << 20
"""The longest single read, because ``zipfile`` reads a whole directory at once."""

_UNCHECKED_SIZE = 16 << 20
_MAX_RATIO = 500
"""A member over 16 MiB with a higher packing ratio is treated as a zip bomb."""

_ZSTD = 93
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTD)
_ENCRYPTED = 0x1 | 0x40
_LOCAL = struct.Struct("<4s22xHH")
_BLOCK = 1 << 18
_MAX_WINDOW = 1 << 27
"""The largest window that a zstd frame may ask for: 128 MiB, the usual bound."""

_place = attrgetter("header_offset")
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, EOFError, struct.error),
    *(NotImplementedError, ValueError, OverflowError, OSError, RuntimeError),
)
"""The errors of ``zipfile`` for bytes that are not an archive or of an unknown kind."""
_MEND = "Copy it again, or let its producer write it again."


class ZipArchive:
    """The directory of an archive, checked against every bound before a member is read."""

    def __init__(
        self, stream: BinaryIO, fail: Fail, max_size: int, max_members: int = MAX_MEMBERS
    ) -> None:
        """Read the directory of a seekable stream; ``max_size`` bounds all members together.

        Raise InputFileError if there is no directory, or it breaks a bound.
        """
        self._stream = stream
        self._fail = fail
        try:
            # The stream stays open: a ZipFile closes only what it opened itself.
            self._zip = zipfile.ZipFile(_BoundedReads(stream))
            listed = self._zip.infolist()
        except _DAMAGED as error:
            problem = "is a zip archive that is cut off or damaged, without a directory"
            raise fail("", problem, _MEND) from error
        if len(listed) > max_members:
            raise fail("", f"contains more than {max_members:,} members", "")
        # A writer replaces a member by adding it again, so the last member of a name counts.
        self._infos = {info.filename: info for info in listed}
        end = 0
        for info in sorted(listed, key=_place):
            # Members that overlap unpack the same bytes many times.
            if info.header_offset < end or info.compress_size < 0:
                raise fail("", "is a zip archive whose members overlap", _MEND)
            end = info.header_offset + _LOCAL.size + info.compress_size
        if sum(info.file_size for info in self._infos.values()) > max_size:
            raise fail("", f"unpacks to more than {max_size:,} bytes", "Raise it with --max-size.")

    @property
    def names(self) -> list[str]:
        return [info.filename for info in sorted(self._infos.values(), key=_place)]

    def open(self, name: str) -> BinaryIO:
        """Open a member's bytes; InputFileError if it is encrypted, damaged, unknown or a bomb."""
        info = self._infos[name]
        fail = self._fail
        shown = show_line(name, 120)
        if info.flag_bits & _ENCRYPTED:
            raise fail(shown, "is encrypted", "Unpack it and pack it without a password.")
        if info.compress_type not in _METHODS:
            raise fail(shown, f"is packed by method {info.compress_type}, which is unknown", "")
        if info.file_size > max(_UNCHECKED_SIZE, _MAX_RATIO * info.compress_size):
            raise fail(shown, f"unpacks to over {_MAX_RATIO} times its size", _MEND)
        try:
            if info.compress_type == _ZSTD:
                body, broken = _unzstd(self._stream, info, fail)
            else:
                body = self._zip.open(info)
                broken = zipfile.BadZipFile
            damaged = fail(shown, "is damaged or cut off", _MEND)
            return io.BufferedReader(_Member(body, info, damaged, broken), _BLOCK)
        except _DAMAGED as error:
            raise fail(shown, "is damaged", _MEND) from error


class _BoundedReads:
    """A stream that refuses long single reads, whatever length the directory claims."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.seek = stream.seek
        self.tell = stream.tell
        self.seekable = stream.seekable

    def read(self, size: int = -1) -> bytes:
        block = self._stream.read(_MAX_READ + 1 if size < 0 else min(size, _MAX_READ + 1))
        if len(block) > _MAX_READ:
            raise zipfile.BadZipFile("a directory without bounds")
        return block


class _Member(Blocks):
    """The unpacked bytes of a member, checked against the size and checksum of the directory."""

    def __init__(
        self, body: Any, info: zipfile.ZipInfo, damaged: InputFileError, broken: type[Exception]
    ) -> None:
        super().__init__()
        self._body = body
        self._info = info
        self._damaged = damaged
        self._broken = broken
        self._given = self._sum = 0

    def block(self, size: int) -> bytes:
        try:
            block: bytes = self._body.read(size)
        except (*_DAMAGED, self._broken) as error:
            raise self._damaged from error
        self._given += len(block)
        self._sum = zlib.crc32(block, self._sum)
        whole = bool(block) or (self._given, self._sum) == (self._info.file_size, self._info.CRC)
        if self._given > self._info.file_size or not whole:
            raise self._damaged
        return block


class _PackedBytes(Blocks):
    def __init__(self, stream: BinaryIO, start: int, size: int) -> None:
        super().__init__()
        self._stream = stream
        self._at = start
        self._end = start + size

    def block(self, size: int) -> bytes:
        self._stream.seek(self._at)
        block = self._stream.read(min(size, self._end - self._at))
        self._at += len(block)
        return block


def _unzstd(stream: BinaryIO, info: zipfile.ZipInfo, fail: Fail) -> tuple[Any, type[Exception]]:
    try:
        import zstandard
    except ImportError:
        hint = "To read it: pip install 'reviewdesk[inspect]'"
        raise fail("", "is packed with zstd", hint) from None
    stream.seek(info.header_offset)
    signature, name, extra = _LOCAL.unpack(stream.read(_LOCAL.size))
    if signature != b"PK\x03\x04":
        raise zipfile.BadZipFile("a member is not where the directory says")
    start = info.header_offset + _LOCAL.size + name + extra
    packed = io.BufferedReader(_PackedBytes(stream, start, info.compress_size), _BLOCK)
    unpacker = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
    return unpacker.stream_reader(packed, read_across_frames=True), zstandard.ZstdError
