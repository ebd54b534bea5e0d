"""The frozen state of the console, and what it asks of the terminal."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.query.filter import MIXED, Completion, hidden_order, parse_filter
from reviewdesk.domain.query.places import places_of
from reviewdesk.domain.records import Item, Progress, QueueRow, Run, View
from reviewdesk.settings import Feedback
from reviewdesk.views.document import Document, Paragraph, Section, Tone, Words, outside

Completer: TypeAlias = Callable[[str, int], Completion]
"""Takes a text and the place of the cursor."""


class PromptForm(Struct, frozen=True):
    """Asks for a text, about ``name`` if there is one; the answer is a ``FieldInput``.

    If ``check`` raises, the field stays open and shows the error. ``past`` holds earlier inputs,
    oldest first; ``rule`` holds lines of syntax that stand above the field; with ``replaces`` the
    value is selected, so that typing replaces it. Of a text of several ``lines``, ``changed`` keeps
    a draft and returns in words what became of it; ``note`` says so of the text at the start.
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
    lines: int = 1
    changed: Callable[[str], str] = lambda _text: ""
    note: str = ""


class FieldInput(Struct, frozen=True):
    """The text of the field; ``given`` is False if the field was left with escape."""

    text: str
    given: bool


class Choice(Struct, frozen=True):
    """One line of a list, and what it answers; a ``head`` cannot be chosen."""

    text: Words
    answer: object = None
    below: str = ""
    head: bool = False


Act: TypeAlias = Callable[[int], object]
"""Takes the place of the highlighted line; a result other than ``None`` closes the dialog."""


class DialogPage(Struct, frozen=True):
    """One page of a dialog: a document, or a list with the chosen line.

    ``keys`` stand at its foot, the one that closes last, and ``foot`` stands below a list. By
    Textual's names of keys, ``answers`` are what they answer, ``acts`` what they do, and ``closes``
    those that close beside escape. A page that is ``strict`` is closed by every key that does
    nothing. A page is as high as what it shows, up to the height of the screen.
    """

    title: str
    keys: Sequence[tuple[str, str]]
    name: str = ""
    note: str = ""
    document: Document | None = None
    choices: Sequence[Choice] = ()
    chosen: int = 0
    foot: Document | None = None
    answers: Mapping[str, object] = {}
    acts: Mapping[str, Act] = {}
    closes: frozenset[str] = frozenset({"q"})
    strict: bool = False
    width: int = 80


class PageForm(Struct, frozen=True):
    """Shows pages, which ``read`` returns by their places; the answer is ``None`` if it is closed.

    ``turns`` are the keys that turn pages; ``drawn`` is called once a page is on screen.
    """

    read: Callable[[int], DialogPage]
    count: int = 1
    at: int = 0
    turns: Mapping[str, int] = {}
    drawn: Callable[[], object] = lambda: None


ESC = (("esc", "closes"),)
MOVES_AND_CLOSES = ("j k", "move"), *ESC
SCROLLS_AND_CLOSES = ("j k", "scroll"), *ESC
"""What stands at the foot of many dialogs."""


def one_page(page: DialogPage) -> PageForm:
    return PageForm(lambda _at: page)


def choice(title: str, lines: Sequence[str], answers: Mapping[str, int] = {}) -> PageForm:
    """Return the form of a short list; a line, or a key of ``answers``, answers its index."""
    keys = ("enter", "chooses"), *MOVES_AND_CLOSES
    offered = [Choice(one, at) for at, one in enumerate(lines)]
    return one_page(DialogPage(title, keys, choices=offered, answers=answers))


def question_form(question: str, reason: str) -> PageForm:
    """Return a yes-or-no question; ``reason`` says what depends on it. The answer is a bool."""
    texts = Paragraph(outside(question, 500, Tone.STRONG)), Paragraph(reason, Tone.MUTED)
    answers = {"y": True, "n": False, "enter": False}
    keys = ("y", "yes"), ("n enter esc", "no")
    document = Document((Section("", texts),))
    none = frozenset[str]()
    return one_page(DialogPage("Question", keys, document=document, answers=answers, closes=none))


class HelpForm(Struct, frozen=True):
    """Shows the keys that work now; the answer is the action to carry out or ``None``."""


Form: TypeAlias = "PromptForm | PageForm | HelpForm"


class ScreenRequest(Struct, frozen=True):
    """What the terminal is to do: a name in the app's table, and what that takes."""

    what: str
    given: tuple[Any, ...] = ()


FAR = 1 << 40
"""More lines than any queue or text has."""
MOVES: Mapping[str, tuple[float, bool]] = {
    "down": (1, False),
    "up": (-1, False),
    "half.down": (0.5, True),
    "half.up": (-0.5, True),
    "page.down": (1, True),
    "page.up": (-1, True),
    "first": (-FAR, False),
    "last": (FAR, False),
}
"""How far an action moves or scrolls, and whether that counts screenfuls instead of lines."""


class SearchHits(Struct, frozen=True):
    """The hits of a search: the words to highlight, and ascending places in the queue."""

    text: str
    words: tuple[str, ...]
    keys: "array[int]"
    places: "array[int]"
    share: float
    """The share of the run that was indexed at the time of the search, from 0 to 1."""

    def placed(self, keys: "array[int]") -> "SearchHits":
        return replace(self, places=places_of(keys, self.keys))


class Session(Struct, frozen=True, eq=False):
    """The run, view, queue, current item and counts; ``index`` is ``None`` outside the queue."""

    run: Run
    view: View
    keys: "array[int]"
    progress: Progress
    index: int | None = None
    item: Item | None = None
    feedback: Feedback = Feedback.AFTER
    told: bool = False
    """Whether the queue was finished, after which ``Feedback.END`` shows the panel's answers."""
    found: SearchHits | None = None
    chosen: frozenset[int] = frozenset()
    """The verdicts that are selected, to be labelled together."""

    @property
    def size(self) -> str:
        return f"{len(self.keys):,}"

    @property
    def done(self) -> bool:
        """Whether the page of a finished queue stands in the place of an item."""
        return self.item is None and bool(self.keys)

    @property
    def hidden(self) -> bool:
        """Whether the panel's answer to the current item must stay hidden."""
        item = self.item
        if not self.view.blind or item is None or item.revealed_at is not None:
            return False
        return item.row.label is None or self.withheld

    @property
    def answered(self) -> bool:
        return self.item is not None and not self.hidden

    @property
    def withheld(self) -> bool:
        if not self.view.blind or self.feedback is Feedback.AFTER:
            return False
        return self.feedback is Feedback.NEVER or not self.told

    @property
    def hidden_query(self) -> bool:
        return uses_hidden(self.view.filter, self.view.order)


def effective_order(view: View) -> str:
    """Return the view's order; a blind session uses ``mix`` for ``draw``, in either direction."""
    if view.blind and view.order.removeprefix("-") == "draw":
        return view.order.replace("draw", MIXED)
    return view.order


@lru_cache(64)
def uses_hidden(filter_text: str, order: str) -> bool:
    """Return True if a filter or order uses a hidden fact; raise FilterError if it is wrong."""
    return parse_filter(filter_text).hidden or hidden_order(order)


WIDE = 140
"""The columns from which the three panes stand side by side."""
TWO_COLUMNS = 120
"""The columns from which the sections of a document are in two columns."""
LEAST = {"queue": 20, "item": 44, "jury": 32}
"""The least columns of each pane, whatever sizes are chosen."""
SMALLEST = (40, 10)
"""The columns and lines below which nothing is shown but a note that says so."""

PANES = ("queue", "item", "jury")


class Panes(Struct, frozen=True):
    """Side by side on a wide terminal, else one at a time: queue, then item, then jury."""

    width: int = 80
    height: int = 24
    chosen: str | None = None
    zoomed: bool = False
    answer: bool = True
    """Whether there is a panel's answer to show; without it the jury has no pane."""
    queue: float | None = None
    jury: float | None = None
    """The shares of the width that were chosen for two panes; ``None`` is the default split."""

    @property
    def wide(self) -> bool:
        return self.width >= WIDE

    @property
    def tiny(self) -> bool:
        return self.width < SMALLEST[0] or self.height < SMALLEST[1]

    @property
    def alone(self) -> bool:
        return self.zoomed or not self.wide

    @property
    def names(self) -> tuple[str, ...]:
        return PANES if self.answer else PANES[:-1]

    @property
    def current(self) -> str:
        return self.chosen if self.chosen in self.names else "item"

    @property
    def readable(self) -> bool:
        return not self.alone or self.current != "queue"

    @property
    def shows_item(self) -> bool:
        return self.readable and not self.tiny

    def beside(self, by: int, *, around: bool = False) -> str:
        """Return the name of the pane one level deeper or back; empty at the end."""
        place = self.names.index(self.current) + by
        if around:
            place %= len(self.names)
        return self.names[place] if 0 <= place < len(self.names) else ""

    @property
    def columns(self) -> dict[str, int]:
        """The columns of the panes side by side; only the item gets the place of a hidden jury."""

        def between(least: int, wanted: float, most: int) -> int:
            return max(least, min(round(wanted), most))

        width = self.width
        room = width - 2
        first = min(0.3 * width, 60) if self.queue is None else self.queue * width
        last = 0.2875 * width if self.jury is None else self.jury * width
        left = between(LEAST["queue"], first, room - LEAST["item"] - LEAST["jury"])
        if not self.answer:
            return {"queue": left, "item": width - 1 - left}
        right = between(LEAST["jury"], last, room - LEAST["item"] - left)
        return {"queue": left, "item": room - left - right, "jury": right}

    def sized(self, name: str, columns: int) -> "Panes":
        """Return the panes with this width for queue or jury, kept as a share of the terminal's."""
        made = self
        for _ in range(2):
            share = round(columns / self.width, 4)
            made = replace(self, **{name: share})
            columns = made.columns[name]
        return made


class Notice(Struct, frozen=True):
    """The text of the status line, raw; ``about`` is the item, run or page it concerns, if any."""

    text: str = ""
    tone: Tone = Tone.NOTE
    about: object = None


TITLE = "title"
TOOLS = "tools"
"""The calls and results of tools in a conversation, each of which folds by itself."""
FOLDS = frozenset({TITLE, "rubric", "input", "reference", TOOLS})
"""The sections of an item that fold where they are long."""


class ReadingOptions(Struct, frozen=True):
    """The reviewer's choices for drawing an item's texts. They never change the text itself."""

    open_sections: frozenset[str] = frozenset()
    """Names of what does not fold: long texts of the item, and reasons and figures of the jury."""
    find: tuple[str, ...] = ()
    """Words to highlight."""


RESPONSES = ("output", "alternative")
"""The parts that are judged: a label needs to have seen each of them. They never fold."""


class Place(Struct, frozen=True):
    """A part of an item, and a character of its text; -1 is the heading of the part.

    With an ``end``, the characters up to there are to be in view as far as they fit.
    """

    part: str = ""
    char: int = -1
    end: int = 0


class Criterion(Struct, frozen=True):
    """A criterion by which the response in view is judged, and the row of its verdict."""

    name: str
    row: QueueRow
    current: bool


class ReasonsLine(Struct, frozen=True):
    """The line in which digits give tags to an item, or take them away."""

    key: int
    name: str
    offered: tuple[str, ...]
    tags: tuple[str, ...]
