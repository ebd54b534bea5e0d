"""What the controller asks of the terminal: to open a dialog, to copy, to scroll, to close."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from reviewdesk.app.keys.commands import Completer
from reviewdesk.views.document import Document, Words


class PromptForm(Struct, frozen=True):
    """Asks for one line of text, about ``name`` if there is one; the answer is a ``FieldInput``.

    If ``check`` raises, the field stays open and shows the error. ``past`` holds earlier inputs,
    oldest first; ``rule`` holds lines of syntax that stand above the field; with ``replaces`` the
    value is selected, so that typing replaces it.
    """

    title: str
    value: str = ""
    check: Callable[[str], object] = lambda _text: None
    complete: Completer | None = None
    hint: str = ""
    rule: str = ""
    past: Sequence[str] = ()
    replaces: bool = False
    name: str = ""


class FieldInput(Struct, frozen=True):
    """The text of the field; ``given`` is False if the field was left with escape."""

    text: str
    given: bool


class QuestionForm(Struct, frozen=True):
    """Asks a yes-or-no question; ``reason`` says what depends on it. The answer is a bool."""

    question: str
    reason: str


class Choice(Struct, frozen=True):
    """One line of a list, and what it answers; a ``head`` cannot be chosen."""

    text: Words
    answer: object = None
    below: str = ""
    head: bool = False


class DialogPage(Struct, frozen=True):
    """One page of a dialog: a document, or a list with the chosen line.

    ``keys`` stand at its foot, the one that closes last; ``answers`` are what keys answer, by
    Textual's name; ``lead`` is a line above a document.
    """

    title: str
    keys: Sequence[tuple[str, str]]
    name: str = ""
    note: str = ""
    lead: Words = ""
    document: Document | Callable[[int], Any] | None = None
    choices: Sequence[Choice] = ()
    chosen: int = 0
    answers: Mapping[str, object] = {}


class PageForm(Struct, frozen=True):
    """Shows pages, which ``read`` returns by their places; the answer is ``None`` if it is closed.

    ``turns`` are the keys that turn pages, ``closes`` those that close beside escape; with
    ``jumps`` a letter goes to a line that begins with it. Without a ``height`` the dialog is as
    high as its list.
    """

    read: Callable[[int], DialogPage]
    count: int = 1
    at: int = 0
    turns: Mapping[str, int] = {}
    closes: frozenset[str] = frozenset({"q"})
    jumps: bool = False
    width: int = 80
    height: int = 0


def one_page(page: DialogPage, **more: Any) -> PageForm:
    """Return the form of a single page."""
    return PageForm(lambda _at: page, **more)


def choice(title: str, lines: Sequence[str]) -> PageForm:
    """Return the form of a short list; the answer is the index of the chosen line."""
    keys = ("enter", "chooses"), ("j k", "move"), ("esc", "closes")
    return one_page(
        DialogPage(title, keys, choices=[Choice(one, at) for at, one in enumerate(lines)])
    )


class NoteForm(Struct, frozen=True):
    """Edits the note on the item ``name``. The answer is a ``FieldInput``.

    ``changed`` keeps a text as the draft, and returns in words what became of it; ``state`` says
    so of the text at the start.
    """

    name: str
    text: str
    changed: Callable[[str], str]
    state: str = ""


class HelpForm(Struct, frozen=True):
    """Shows the keys that work now; the answer is the action to carry out or ``None``."""


class OwnForm:
    """The state of a dialog that changes while the dialog is open."""


Form: TypeAlias = "PromptForm | QuestionForm | NoteForm | PageForm | HelpForm | OwnForm"


class Ask(Struct, frozen=True):
    """Open the dialog of ``form``, and call ``then`` with its answer once it is closed."""

    form: Form
    then: Callable[[Any], object]


class Move(Struct, frozen=True):
    """Move or scroll what has the keys by lines or, with ``pages``, by screenfuls."""

    by: float
    pages: bool = False


class Jump(Struct, frozen=True):
    """Scroll the item, or the jury if it has the keys, by some sections."""

    by: int


class Copy(Struct, frozen=True):
    """Put a text on the clipboard."""

    text: str


class TakeSelection(Struct, frozen=True):
    """Call ``then`` with the selected text, which may be empty."""

    then: Callable[[str], object]


class TakeLines(Struct, frozen=True):
    """Call ``then`` with the lines of figures that are in view, from the top."""

    then: Callable[[Sequence[str]], object]


class UseTheme(Struct, frozen=True):
    """Switch to a theme."""

    name: str


class UseOwnTheme(Struct, frozen=True):
    """Switch to the theme of the settings or, without one, to one that the terminal can show."""


class OpenPalette(Struct, frozen=True):
    """Open the palette."""


class Redraw(Struct, frozen=True):
    """Send the whole screen again, because something else may have written on the terminal."""


class Close(Struct, frozen=True):
    """Close the app; everything is saved."""


Request: TypeAlias = (
    "Ask | Move | Jump | Copy | TakeSelection | TakeLines | UseTheme | UseOwnTheme"
    " | OpenPalette | Redraw | Close"
)
FAR = 1 << 40
"""More lines than any queue or text has."""
MOVES: Mapping[str, Move] = {
    "down": Move(1),
    "up": Move(-1),
    "half.down": Move(0.5, pages=True),
    "half.up": Move(-0.5, pages=True),
    "page.down": Move(1, pages=True),
    "page.up": Move(-1, pages=True),
    "first": Move(-FAR),
    "last": Move(FAR),
}
"""The moves by the id of their action."""
