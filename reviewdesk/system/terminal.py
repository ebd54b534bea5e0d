"""Terminals: the keyboard if stdin is a file, single keys, and drawings in parts."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

KEYBOARD = "CONIN$" if sys.platform == "win32" else "/dev/tty"
"""The terminal's keys, whatever stdin is."""

PARTS_DRAWINGS = sys.platform == "win32"
"""On Windows, Textual sends a drawing in parts of 8,192 characters, which end anywhere."""


def is_dumb(environ: Mapping[str, str]) -> bool:
    """Return True if the terminal says that it cannot move its cursor."""
    # Windows' console can, and sets no such variable.
    return sys.platform != "win32" and environ.get("TERM") in {"dumb", "unknown"}


def edited(text: str, suffix: str) -> str | None:
    """Let a person edit a text in ``$VISUAL``, ``$EDITOR`` or the system's editor.

    Return the saved text; ``None`` if nothing was saved, the editor failed, or none exists.
    """
    usual = "notepad" if sys.platform == "win32" else "vi"
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or usual
    with TemporaryDirectory(prefix="reviewdesk-") as folder:
        path = Path(folder, f"draft{suffix}")
        path.write_text(text, encoding="utf-8")
        before = path.stat().st_mtime_ns
        try:
            # The person's own editor, as their environment names it.
            done = subprocess.run([*shlex.split(editor), str(path)], check=False)  # noqa: S603
            found = path.read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None
        saved = path.stat().st_mtime_ns != before or found != text
    return found if saved and not done.returncode else None


def open_keyboard() -> None:
    """Read stdin from the terminal; raise OSError if the process has none."""
    # Windows lets programs set the console's modes only through a handle that may write.
    mode = os.O_RDWR if sys.platform == "win32" else os.O_RDONLY
    descriptor = os.open(KEYBOARD, mode)
    if descriptor:  # it is 0 if stdin was closed
        os.dup2(descriptor, 0)
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    @contextmanager
    def single_keys() -> Iterator[None]:
        """Read keys one by one, and discard those typed before."""
        while msvcrt.kbhit():
            msvcrt.getwch()
        yield

    def read_key() -> str:
        """Wait for a key and return it; ctrl+c raises KeyboardInterrupt."""
        key = msvcrt.getwch()
        if key == "\x03":
            raise KeyboardInterrupt
        return key

else:
    import termios
    import tty

    @contextmanager
    def single_keys() -> Iterator[None]:
        """Read keys one by one, and discard those typed before and after."""
        terminal = sys.stdin.fileno()
        before = termios.tcgetattr(terminal)
        try:
            tty.setcbreak(terminal, termios.TCSAFLUSH)
            yield
        finally:
            # Otherwise the rest of a typed line would be the shell's next command.
            termios.tcsetattr(terminal, termios.TCSAFLUSH, before)

    def read_key() -> str:
        """Wait for a key and return it; ctrl+c raises KeyboardInterrupt."""
        return os.read(sys.stdin.fileno(), 1).decode("ascii", "replace")
