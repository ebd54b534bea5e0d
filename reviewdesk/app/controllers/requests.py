"""What the controller asks of the terminal: to open a dialog, to copy, to scroll, to close."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from reviewdesk.app.keys.commands import Completer
from reviewdesk.desk.review.other_runs import Flips
from reviewdesk.domain.jurors.panels import PanelComparison
from reviewdesk.domain.panel.rerun_result import RerunResult
from reviewdesk.domain.records import Event, Item
from reviewdesk.views.document import Document
from reviewdesk.views.glossary import GlossaryTerm

if TYPE_CHECKING:
    from reviewdesk.app.controllers.rerun_form import RerunForm


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


class OrderForm(Struct, frozen=True):
    """Asks for the order of the queue; the answer is an order or ``None``."""

    order: str
    blind: bool


class ChoiceForm(Struct, frozen=True):
    """Offers a short list; the answer is the index of the chosen option or ``None``."""

    title: str
    options: Sequence[str]


class NoteForm(Struct, frozen=True):
    """Edits the note on the item ``name``. The answer is a ``FieldInput``.

    ``changed`` keeps a text as the draft, and returns in words what became of it; ``state`` says
    so of the text at the start.
    """

    name: str
    text: str
    changed: Callable[[str], str]
    state: str = ""


class TagsForm(Struct, frozen=True):
    """Offers tags of the item ``name`` by the digits from 1.

    ``toggle`` gives or takes away a tag by its place, for a key that was handled some seconds
    late, and returns the tags that the item then has; it may raise ReviewDeskError. The answer is
    True if the tags are to be typed instead.
    """

    name: str
    offered: Sequence[str]
    tags: Sequence[str]
    toggle: Callable[[int, float], Sequence[str]]


class HistoryForm(Struct, frozen=True):
    """Shows the events of the item and of the reviewer, each newest first.

    ``found`` returns the result of the re-run that an event records, if any. The answer is the
    chosen event or ``None``.
    """

    title: str
    item: Sequence[Event]
    session: Sequence[Event]
    found: Callable[[Event], RerunResult | None]


class DiffPage(Struct, frozen=True):
    """One verdict to compare with: a re-run or, with ``flips``, the same content in another run.

    ``halt`` says how far a stopped re-run came.
    """

    other: Item
    halt: str = ""
    flips: Flips | None = None


class DiffForm(Struct, frozen=True):
    """Compares an item with others, ``whole`` if re-runs are among them; ``read`` returns one.

    The answer is the run whose flipped verdicts are to be shown, or ``None``.
    """

    item: Item
    count: int
    whole: bool
    blind: bool
    read: Callable[[int], DiffPage]


class ExplainForm(Struct, frozen=True):
    """Shows terms with their sentences, the chosen one first; there is no answer."""

    terms: Sequence[GlossaryTerm]


class PanelsForm(Struct, frozen=True):
    """Shows how two panels compare; the answer is True if the verdicts behind it are wanted."""

    found: PanelComparison
    blind: bool


class TeamForm(Struct, frozen=True):
    """Shows how far the reviewers of a run agree; the answer is True if the disputed are wanted.

    ``disputed`` counts the verdicts on which people differ and that nobody adjudicated.
    """

    run: str
    document: Document
    disputed: int


class HelpForm(Struct, frozen=True):
    """Shows the keys that work now; the answer is the action to carry out or ``None``."""


Form: TypeAlias = (
    "PromptForm | QuestionForm | OrderForm | ChoiceForm | NoteForm | TagsForm | HistoryForm"
    " | DiffForm | PanelsForm | TeamForm | ExplainForm | HelpForm | RerunForm"
)


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


class Sideways(Struct, frozen=True):
    """Scroll lines that are not wrapped sideways by columns."""

    columns: int


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
    "Ask | Move | Jump | Sideways | Copy | TakeSelection | TakeLines | UseTheme | UseOwnTheme"
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
