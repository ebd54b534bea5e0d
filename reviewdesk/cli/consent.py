"""Ask for consent on the terminal with one key; without consent, nothing is sent."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click


def can_ask() -> bool:
    """Return True if the process can read keys from a terminal and show a question on one."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def agreed(question: str) -> bool:
    """Ask on stderr and return True for ``y``; every other key, even Enter, refuses."""
    with _keys():
        click.echo(f"{question} [y/N] ", nl=False, err=True)
        try:
            key = _key()
        finally:
            click.echo(err=True)
    return key in {"y", "Y"}


def _key() -> str:
    if os.name != "posix":
        return click.getchar()
    return os.read(sys.stdin.fileno(), 1).decode("ascii", "replace")


@contextmanager
def _keys() -> Iterator[None]:
    """Read keys one by one, and discard those typed before the question."""
    if os.name != "posix":
        yield
        return
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal, termios.TCSAFLUSH)
        yield
    finally:
        # Otherwise the rest of a typed line would be the shell's next command.
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
