"""The only way to write whole files: a file gets its name when it is complete and on disk."""

import errno
import os
import re
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from reviewdesk.system.locks import sync, sync_folder

_PRIVATE = 0o600
_PUBLIC = 0o666
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
_PART = re.compile(r"\.reviewdesk-([0-9a-f]{16}|[0-9a-z_]{8})\.part(-journal|-wal|-shm)?")
_ABANDONED = 3600
"""Seconds after its last write for which an unfinished file counts as being written."""
_DESK = b"RDK1"
"""The application id of a desk, in the header of its file."""
BESIDE = ("", "-wal", "-shm", "-journal")
"""The suffixes of the files of a desk."""
_UNNAMED = getattr(os, "O_TMPFILE", 0)


_allowed = {"machine": True}
"""Whether this process may write files that do not belong to a desk."""


def only_desk() -> None:
    """Refuse from now on to write files of the machine, as the user is in a browser.

    The desk's own files can still be written: its log, its backups and pending edits.
    """
    _allowed["machine"] = False


def may_write() -> bool:
    """Return False if this process may write nothing but the desk's own files."""
    return _allowed["machine"]


def _refuse_in_browser(path: Path, *, of_desk: bool) -> None:
    if not of_desk and not may_write():
        raise PermissionError(errno.EPERM, "is not written for a browser", str(path))


@contextmanager
def whole_file(
    path: Path, *, replace: bool = False, private: bool = False, of_desk: bool = False
) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name when the block ends without an error.

    Until then it is unnamed if the system supports this, else it has a random name, so that a kill
    leaves nothing under ``path``. ``replace`` allows an existing file or link of that name to be
    replaced, but no desk or file beside one; a link's target is never touched, and the mode of a
    replaced file stays. ``private`` makes the file readable by its owner only. A pipe or device is
    written directly. ``of_desk`` says that the file belongs to the desk and not to the machine.
    Raise FileExistsError if the name is taken, and ``replace`` is not given. Raise PermissionError
    if this is the console of a browser, and the file is not the desk's. Raise OSError if the file
    cannot be written; an existing file of that name is unchanged.
    """
    _refuse_in_browser(path, of_desk=of_desk)
    if is_stream(path):
        with path.open("wb") as out:
            yield out
        return
    kept = _kept_mode(path, replace=replace)
    if replace:
        refuse_desk(path)
    kept = _PRIVATE if private else kept
    descriptor, part = _open_part(path.parent, _PRIVATE if private else _PUBLIC)
    try:
        with os.fdopen(descriptor, "wb") as out:
            yield out
            out.flush()
            if kept is not None and sys.platform != "win32":
                os.fchmod(out.fileno(), kept)
            sync(out.fileno())
            if part is None and not replace:
                _name(out.fileno(), path)
            elif part is None:
                part = _part_of(path.parent)
                _name(out.fileno(), part)
        if part is not None:
            _publish(part, path, replace=replace)
    finally:
        if part is not None:
            part.unlink(missing_ok=True)
    sync_folder(path.parent)


@contextmanager
def whole_path(path: Path, *, replace: bool = False, of_desk: bool = False) -> Iterator[Path]:
    """Return an empty private file that takes the name ``path`` when the block ends well.

    For code that can only write to a file that it opens by name. It raises the errors of
    ``whole_file``, and one for a pipe or device, as the file would replace it.
    """
    _refuse_in_browser(path, of_desk=of_desk)
    if is_stream(path):
        raise OSError(errno.EINVAL, "is a pipe or device", str(path))
    _kept_mode(path, replace=replace)
    _sweep(path.parent)
    part = _part_of(path.parent)
    os.close(os.open(part, _NEW, _PRIVATE))
    try:
        yield part
        descriptor = os.open(part, os.O_RDWR)
        try:
            sync(descriptor)
        finally:
            os.close(descriptor)
        _publish(part, path, replace=replace)
    finally:
        part.unlink(missing_ok=True)
    sync_folder(path.parent)


def _sweep(folder: Path) -> None:
    """Delete the unfinished files and folders of processes that were killed at work."""
    with suppress(OSError):
        for found in folder.iterdir():
            if _PART.fullmatch(found.name) and time.time() - found.lstat().st_mtime > _ABANDONED:
                if found.is_dir() and not found.is_symlink():
                    shutil.rmtree(found, ignore_errors=True)
                else:
                    found.unlink(missing_ok=True)


def create_private(path: Path) -> None:
    """Create an empty file that only its owner can read, unless the name is taken."""
    with suppress(FileExistsError):
        os.close(os.open(path, _NEW, _PRIVATE))


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading; raise OSError for a link, which may lead anywhere, or a pipe."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    if stat.S_ISREG(path.lstat().st_mode):
        file = os.fdopen(os.open(path, flags), "rb")
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file
        file.close()
    raise OSError(errno.EINVAL, "is a link, or no regular file", str(path))


def is_stream(path: Path) -> bool:
    """Return True if the path leads to a pipe, a device or an open descriptor."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    if stat.S_ISREG(mode):
        # A link such as /dev/stdout may lead to a file that the shell has opened.
        folder = str(path.parent.resolve())
        return path.is_symlink() and (folder == "/dev" or folder.startswith("/proc/"))
    return not stat.S_ISDIR(mode)


def _kept_mode(path: Path, *, replace: bool) -> int | None:
    """Return the mode of a file that is to be replaced; raise OSError if the name is not free."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
    if not replace:
        raise _taken(path)
    return stat.S_IMODE(found.st_mode) & 0o777 if stat.S_ISREG(found.st_mode) else None


def refuse_desk(path: Path) -> None:
    """Raise OSError if the name belongs to a desk, or to a log that SQLite keeps next to one."""
    if any(is_desk(path.with_name(path.name.removesuffix(end))) for end in BESIDE):
        raise OSError(errno.EPERM, "is a desk, or a file of one", str(path))


def is_desk(path: Path) -> bool:
    """Return True if the header of a file says that it is a desk; False for a link to one."""
    with suppress(OSError, ValueError):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                return file.read(72)[68:] == _DESK
    return False


def _taken(path: Path) -> FileExistsError:
    return FileExistsError(errno.EEXIST, "already exists", str(path))


def _open_part(folder: Path, mode: int) -> tuple[int, Path | None]:
    """Open an unnamed file in the folder, or one with a random name, and return that name too."""
    if _UNNAMED:
        # Not every file system has unnamed files.
        with suppress(OSError):
            return os.open(folder, _UNNAMED | os.O_WRONLY, mode), None
    part = _part_of(folder)
    return os.open(part, _NEW | getattr(os, "O_BINARY", 0), mode), part


def _part_of(folder: Path) -> Path:
    from secrets import token_hex

    return folder / f".reviewdesk-{token_hex(8)}.part"


def _name(descriptor: int, path: Path) -> None:
    """Give an unnamed file its name; raise FileExistsError if the name is taken."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.link(f"/proc/self/fd/{descriptor}", path.name, dst_dir_fd=folder, follow_symlinks=True)
    except FileExistsError as error:
        raise _taken(path) from error
    finally:
        os.close(folder)


def _publish(part: Path, path: Path, *, replace: bool) -> None:
    """Move a complete file to its name; raise FileExistsError if the name is taken."""
    if replace:
        part.replace(path)
        return
    if os.name == "posix":
        try:
            os.link(part, path, follow_symlinks=False)
        except FileExistsError as error:
            raise _taken(path) from error
        except OSError:
            # The file system has no hard links.
            if os.path.lexists(path):
                raise _taken(path) from None
            part.rename(path)
        return
    part.rename(path)  # refuses a name that is taken
