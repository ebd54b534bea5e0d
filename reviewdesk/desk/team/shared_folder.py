"""A folder that several machines mount or copy, as the place through which desks exchange files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shutil import copyfileobj
from typing import BinaryIO

from msgspec import Struct

from reviewdesk.errors import DeskError, UsageError
from reviewdesk.file_output import whole_file

MOST_FILES = 100_000
"""The most files of a place that are looked at."""
BLOCK = 1 << 20
LARGER = "is larger than its kind of file may be"
_READ = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)
"""A link is not followed, and opening a pipe does not wait for a writer."""
_OTHERS_WRITE = 0o022
_NO_FILE = "is a link, or no regular file, so it was not read"


class SharedFile(Struct, frozen=True):
    """A file of a place: its name, in which ``/`` parts folders, and its size in bytes."""

    name: str
    size: int
    problem: str = ""
    """Why it is not read, if it is none that may be."""


class PlaceProblem(ValueError):
    """A file of a place is not taken; the text says what was found, the hint what to do."""

    def __init__(self, text: str, hint: str = "") -> None:
        """Keep the hint apart; it is empty where what is in the file is wrong."""
        self.hint = hint
        super().__init__(text)


def unreadable(reason: str) -> PlaceProblem:
    """Return the problem of a file that could not be read, whatever is in it."""
    hint = "Check the connection and whether you may read it, and sync again."
    return PlaceProblem(f"cannot be read: {reason}", hint)


def copy_bounded(given: BinaryIO, into: BinaryIO, most: int) -> None:
    """Copy a stream of at most so many bytes; raise PlaceProblem if there are more."""
    while block := given.read(BLOCK):
        most -= len(block)
        if most < 0:
            raise PlaceProblem(LARGER)
        into.write(block)


def refuse_crowd(address: str, count: int) -> None:
    """Raise DeskError if a place holds more files than are looked at."""
    if count > MOST_FILES:
        raise DeskError(
            f"{address}: holds more than {MOST_FILES:,} files",
            "Give your team a folder of its own.",
        )


class SharedFolder:
    """A shared folder. Links inside it are neither followed nor replaced by folders."""

    def __init__(self, where: str | Path) -> None:
        """Take a folder; the first file makes it if it is missing.

        Raises:
            UsageError: the path is empty, an address or a file, or has no folder to make it in.
        """
        if not str(where).strip():
            raise UsageError("WHERE: is empty", "Name the shared folder.")
        if "://" in str(where):
            raise UsageError(
                f"{where}: is an address, and desks sync through a folder",
                "Mount it, or let git, rclone or Syncthing copy a folder, and name that.",
            )
        path = Path(where).expanduser()
        self.address = str(path)
        self._root = path
        if path.is_dir():
            return
        if os.path.lexists(path):
            raise UsageError(f"{path}: is not a folder", "Name the shared folder.")
        if not path.parent.is_dir():
            hint = "Check the path, and that the share is mounted."
            raise UsageError(f"{path}: there is no folder {path.parent}", hint)

    def entries(self, folder: str) -> Iterator[SharedFile]:
        """Yield the files of a folder and of the folders in it."""
        for count, entry in enumerate(self._walk(folder, deeper=1)):
            refuse_crowd(self.address, count)
            yield entry

    def _walk(self, folder: str, deeper: int) -> Iterator[SharedFile]:
        try:
            self._refuse_links(folder)
            with os.scandir(self._root / folder) as found:
                for one in found:
                    name = f"{folder}/{one.name}"
                    if one.is_dir(follow_symlinks=False):
                        if deeper:
                            yield from self._walk(name, deeper - 1)
                    elif one.is_file(follow_symlinks=False):
                        yield SharedFile(name, one.stat(follow_symlinks=False).st_size)
                    else:
                        yield SharedFile(name, 0, _NO_FILE)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _failed(f"{self.address}/{folder}", error, "Check its permissions.") from error

    def copy(self, name: str, into: BinaryIO, most: int) -> None:
        """Copy the bytes of a regular file."""
        try:
            self._refuse_links(name.rpartition("/")[0])
            with os.fdopen(os.open(self._root / name, _READ), "rb") as given:
                if not stat.S_ISREG(os.fstat(given.fileno()).st_mode):
                    raise PlaceProblem(_NO_FILE)
                copy_bounded(given, into, most)
        except OSError as error:
            raise unreadable(_reason(error)) from error

    def put(self, name: str, given: BinaryIO) -> None:
        """Write a file under a name of its own, and then give it this one."""
        path = self._root / name
        try:
            self._root.mkdir(exist_ok=True)
            self._make_folders(name.split("/")[:-1])
            with whole_file(path, replace=True) as out:
                copyfileobj(given, out, BLOCK)
            self._open_to_readers(path)
        except OSError as error:
            hint = "Check free space and permissions; what was written before is there."
            raise _failed(str(path), error, hint) from error

    def _make_folders(self, names: list[str]) -> None:
        """Make the folders of a file that are missing: who may write in the place may in the first.

        One inside it belongs to a desk, where others may read what they may read of the place.
        """
        path, mode = self._root, self._mode()
        for name in names:
            path /= name
            with suppress(FileExistsError):
                path.mkdir()
                if os.name == "posix":
                    path.chmod(mode)
            mode &= ~_OTHERS_WRITE
        self._refuse_links("/".join(names))

    def _open_to_readers(self, path: Path) -> None:
        """Let those read a file who may read the place, whatever the writer's mask says."""
        if os.name != "posix":
            return
        descriptor = os.open(path, _READ)
        try:
            os.fchmod(descriptor, self._mode() & 0o666 & ~_OTHERS_WRITE | 0o600)
        finally:
            os.close(descriptor)

    def _mode(self) -> int:
        return stat.S_IMODE(self._root.stat().st_mode)

    def _refuse_links(self, folder: str) -> None:
        """Raise OSError if a folder is a link, which may lead anywhere."""
        path = self._root
        for name in folder.split("/"):
            path /= name
            if not stat.S_ISDIR(path.lstat().st_mode):
                raise NotADirectoryError(None, "a folder was expected, and it is a link or file")


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _failed(what: str, error: OSError, hint: str) -> DeskError:
    return DeskError(f"{what}: {_reason(error)}", hint)
