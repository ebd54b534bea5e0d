"""One question on the terminal, answered by one key: nothing leaves the machine without it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click


def can_ask() -> bool:
    """Whether there is somebody to ask: keys come in, and the question is seen."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def agreed(question: str) -> bool:
    """Ask on stderr; ``y`` agrees and every other key, Enter and Esc among them, does not."""
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
    """Keys come one by one, and those typed before there was a question are dropped."""
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
        # Else the rest of a line that was typed would be the shell's next command.
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
