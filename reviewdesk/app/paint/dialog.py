"""Painters for the two lines that every dialog has: its title and its keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from rich.cells import cell_len
from textual.content import Content

from reviewdesk.app.paint.styled import Piece, clip_start, cut, inline, line
from reviewdesk.app.theme.inks import Ink

Keys: TypeAlias = Sequence[tuple[str, str]]
"""Keys and what they do, the one that closes the dialog last."""


def title_line(what: str, name: str, note: str, width: int) -> Content:
    """Return what a dialog is about, the item that it is about, and a note in faint ink.

    The name comes from outside; it is cut at its start, as the end of an id tells more.
    """
    pieces: list[Piece | str] = [(what, Ink.STRONG)]
    if name:
        room = max(12, width - cell_len(what) - 1)
        pieces += [" ", (clip_start(inline(name), room), Ink.KEY)]
    if note:
        pieces += ["   ", (note, Ink.MUTED)]
    return cut(line(*pieces), width)


def keys_line(keys: Keys, width: int) -> Content:
    """Return the keys that fit with what they do; the last one, which closes, always stays."""
    shown = list(keys)
    made = _joined(shown)
    while made.cell_length > width and len(shown) > 1:
        del shown[-2]
        made = _joined(shown)
    return cut(made, width)


def _joined(keys: Keys) -> Content:
    pieces: list[Piece | str] = []
    for key, does in keys:
        pieces += [(" · ", Ink.MUTED)] if pieces else []
        pieces += [(key, Ink.KEY), (f" {does}", Ink.MUTED)]
    return line(*pieces)
