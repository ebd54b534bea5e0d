"""What each action does: from a key to the sitting, and back to the screen."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from reviewdesk.app.hands_queue import QueueHands
from reviewdesk.app.paint import clip, inline
from reviewdesk.app.screens.dialogs import NoteDialog
from reviewdesk.app.screens.help import HelpScreen, live_keys
from reviewdesk.app.sitting import Labelled
from reviewdesk.app.themes import THEMES, Ink
from reviewdesk.app.widgets.queue_list import QueueList
from reviewdesk.desk import drafts
from reviewdesk.domain.records import Event, Truth
from reviewdesk.errors import ReviewDeskError

if TYPE_CHECKING:
    from reviewdesk.app.app import ReviewApp
    from reviewdesk.app.screens.review import ReviewScreen

_TRUTHS = {"pass": Truth.PASS, "fail": Truth.FAIL, "unsure": Truth.UNSURE}
_WORDS = {Truth.PASS: "pass", Truth.FAIL: "fail", Truth.UNSURE: "can't tell"}
_FAR = 1 << 40
"""Further than any queue or text reaches."""


class Hands:
    """Carries out the actions of the registry; the sitting decides, the screen draws."""

    def __init__(self, screen: ReviewScreen) -> None:
        """Act for ``screen``."""
        self._screen = screen
        self._queue = QueueHands(screen)
        self._verbs = self._table()

    def _table(self) -> dict[str, Callable[[], None]]:
        verbs: dict[str, Callable[[], None]] = {
            "defer": self._defer,
            "undo": self._undo,
            "redo": partial(self._undo, redo=True),
            "note": self._note,
            "reveal": self._reveal,
            "next": self._next,
            "back": self._back,
            "item.next": partial(self._step, 1),
            "item.previous": partial(self._step, -1),
            "down": partial(self._move, 1),
            "up": partial(self._move, -1),
            "half.down": partial(self._move, 0.5, pages=True),
            "half.up": partial(self._move, -0.5, pages=True),
            "page.down": partial(self._move, 1, pages=True),
            "page.up": partial(self._move, -1, pages=True),
            "first": partial(self._move, -_FAR),
            "last": partial(self._move, _FAR),
            "deeper": partial(self._level, 1),
            "shallower": partial(self._level, -1),
            "pane.next": partial(self._level, 1, around=True),
            "pane.previous": partial(self._level, -1, around=True),
            "filter": self._queue.filter,
            "order": self._queue.order,
            "blind": self._queue.blind,
            "help": self._help,
            "copy": self._copy,
            "quit": self._quit,
            "quit.anywhere": self._quit,
        }
        for word, truth in _TRUTHS.items():
            verbs[f"label.{word}"] = partial(self._label, truth, tentative=False)
            verbs[f"tentative.{word}"] = partial(self._label, truth, tentative=True)
        for name in THEMES:
            verbs[f"theme.{name}"] = partial(self._theme, name)
        return verbs

    def do(self, name: str) -> None:
        """Carry out one action; may raise ``ReviewDeskError``, which the screen shows."""
        self._verbs[name]()

    # labels

    def _label(self, truth: Truth, *, tentative: bool) -> None:
        screen = self._screen
        if screen.session.item is None:
            screen.say("No item to label here.", Ink.MUTED)
            return
        if not screen.panes.readable:
            screen.say("enter opens the item: a label is given where it can be read", Ink.WARN)
            return
        if not screen.guard.press(f"{truth}{tentative}", screen.lateness()):
            screen.say(f"{_WORDS[truth]} ignored: too soon after the last key", Ink.WARN)
            return
        done = screen.sitting.label(truth, tentative=tentative)
        if done is None:
            return
        word = _WORDS[truth] + (" tentative" if tentative else "")
        screen.save_mark(f"saved ✓ {word} {inline(done.item.verdict.id)}")
        screen.say(self._feedback(done), Ink.NOTE)
        if not screen.panes.wide and screen.panes.current == "jury":
            screen.panes.choose("item")
        try:
            screen.sitting.next_undecided()
        finally:
            screen.show(rows=True)
            screen.recalibrate()

    def _feedback(self, done: Labelled) -> str:
        """After a label in a blind session, what the panel had said."""
        if not self._screen.session.view.blind:
            return ""
        found = done.item.assessment
        said = "nothing" if found.decision is None else found.decision.value
        score = "" if found.score is None else f" {found.score:.2f}"
        votes = f"({found.votes.passes} of {found.votes.answered})"
        return f"{inline(done.item.verdict.id)}: the panel said {said}{score} {votes}"

    def _defer(self) -> None:
        screen = self._screen
        item = screen.session.item
        if item is None or not screen.sitting.defer():
            screen.say("No item to defer here.", Ink.MUTED)
            return
        screen.say(f"deferred {inline(item.verdict.id)}: it comes back last")
        screen.sitting.next_undecided()
        screen.show(rows=True)

    def _undo(self, *, redo: bool = False) -> None:
        screen = self._screen
        event = screen.sitting.undo(redo=redo)
        word = "redo" if redo else "undo"
        if event is None:
            screen.say(f"Nothing to {word}.", Ink.MUTED)
            return
        screen.say(f"{word}: {_named(event)}", Ink.NOTE)
        screen.save_mark(f"saved ✓ {word}")
        screen.show(rows=True)
        screen.recalibrate()

    def _reveal(self) -> None:
        screen = self._screen
        if not screen.session.hidden:
            screen.say("Nothing is hidden here.", Ink.MUTED)
            return
        screen.sitting.reveal()
        screen.say("revealed: a label on this item is not blind", Ink.NOTE)
        screen.show(keep=True, rows=True)

    # moving

    def _next(self) -> None:
        self._screen.sitting.next_undecided()
        self._screen.show()

    def _back(self) -> None:
        if self._screen.sitting.back():
            self._screen.show()
        else:
            self._screen.say("No item was seen before this one.", Ink.MUTED)

    def _step(self, by: int) -> None:
        if self._screen.sitting.step(by):
            self._screen.show()

    def _move(self, by: float, *, pages: bool = False) -> None:
        widget = self._screen.panes.focused
        lines = int(by * widget.page) if pages else int(by)
        if isinstance(widget, QueueList):
            self._step(lines)
        else:
            widget.move(lines)

    def _level(self, by: int, *, around: bool = False) -> None:
        if self._screen.panes.shift(by, around=around):
            self._screen.frame()

    # notes and the rest

    def _note(self) -> None:
        screen, item = self._screen, self._screen.session.item
        if item is None:
            screen.say("No item to write about here.", Ink.MUTED)
            return
        key, note, desk = item.row.key, item.note or "", screen.sitting.desk
        draft = drafts.draft(desk, key)

        def changed(text: str) -> None:
            try:
                drafts.keep(desk, key, "" if text == note else text)
            except ReviewDeskError as error:
                screen.complain(error)

        dialog = NoteDialog(note if draft is None else draft, changed)
        screen.app.push_screen(dialog, partial(self._noted, key))

    def _noted(self, key: int, answer: tuple[bool, str] | None) -> None:
        screen = self._screen
        if answer is None:
            return
        save, text = answer
        if not save:
            kept = "draft kept: c goes on with it" if drafts.draft(screen.sitting.desk, key) else ""
            screen.say(kept, Ink.MUTED)
            return
        try:
            screen.sitting.note(text)
        except ReviewDeskError as error:
            screen.complain(error)
            return
        screen.saved = "saved ✓ note"
        screen.say("")
        screen.show(keep=True, rows=True)

    def _help(self) -> None:
        self._screen.app.push_screen(HelpScreen(live_keys(self._screen)))

    def _copy(self) -> None:
        text = self._screen.get_selected_text()
        if text:
            self._screen.app.copy_to_clipboard(text)
            self._screen.say(f"copied {len(text):,} characters", Ink.NOTE)
        else:
            self._screen.say("nothing is selected; press q to close", Ink.MUTED)

    def _quit(self) -> None:
        cast("ReviewApp", self._screen.app).action_close_desk()

    def _theme(self, name: str) -> None:
        cast("ReviewApp", self._screen.app).use_theme(name)


def _named(event: Event) -> str:
    """What an undo or redo was about."""
    what = inline(event.detail.get("was") or event.label or event.kind)
    place = f" on {clip(inline(event.verdict), 80)}" if event.verdict else ""
    other = f" in {inline(event.run)}" if event.run and not event.verdict else ""
    return f"{what}{place}{other}"
