"""Undo and redo, and what becomes of edits that are unsaved when the app ends."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from reviewdesk.app.controllers.core import Core
from reviewdesk.app.controllers.jobs import UNDO, Report
from reviewdesk.app.controllers.requests import QuestionForm
from reviewdesk.app.controllers.saving import Write
from reviewdesk.app.texts.fold import fitting
from reviewdesk.desk import Desk
from reviewdesk.desk.review import edits, unsaved
from reviewdesk.domain.records import Event, Item, Run
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import DeskError, NotFoundError, ReviewDeskError
from reviewdesk.views.document import Tone

_WAIT = "Wait for its end, or stop it with :stop; the next u or U goes on with it."


class UndoController:
    """Undoes and redoes, and goes to the item of what it changed."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.verbs: dict[str, Callable[[], None]] = {
            "undo": self._undo,
            "redo": partial(self._undo, redo=True),
        }

    def _undo(self, *, redo: bool = False) -> None:
        """Undo or redo what is being saved, else the newest action of the desk."""
        core = self._core
        word = "redo" if redo else "undo"
        write = core.outbox.bring_back() if redo else core.outbox.take_back()
        if write is not None and write.item is not None:
            self._return_to(write.item)
            core.say(f"{word}: {show_line(write.name)}, before it was saved", Tone.NOTE)
            return
        if core.jobs.runs(UNDO):
            raise DeskError("an import is being taken back or brought back", _WAIT)
        saved = partial(self._undone, word, core.shown)
        if not core.outbox.put(Write(edits.Turn(word), saved, name=word, stands=False)):
            core.say(f"{word}: waits for another process to finish its write", Tone.NOTE)

    def _return_to(self, item: Item) -> None:
        """Show the item of a write that was taken back, or is to be saved after all."""
        core = self._core
        if item.run.key != core.session.run.key:
            core.review_run(item.run, item.verdict.id)
        else:
            core.review.goto(item.row.key)
        core.review.refresh()
        core.show(rows=True)

    def _undone(self, word: str, shown: object, event: Event | None) -> None:
        """Go to what was undone or redone, if what was ``shown`` is in view still, and name it."""
        core = self._core
        if event is None:
            core.say(f"Nothing to {word}.", Tone.MUTED)
            return
        if edits.is_import(core.desk, event):
            self._turn_import(word, shown, event)
            return
        self._told(word, shown, event)

    def _turn_import(self, word: str, shown: object, begun: Event) -> None:
        """Undo or redo the rest of an import in the background."""
        core = self._core

        def work(desk: Desk, report: Report) -> object:
            return edits.rest(desk, begun, report)

        def ended(event: object, error: ReviewDeskError | None) -> None:
            if isinstance(event, Event):
                self._told(word, shown, event)
            elif error is not None:
                core.complain(error)
                core.follow()

        core.jobs.start(UNDO, work, ended, what=f"the {word} of an import")
        back = "back" if word == "undo" else "in again"
        core.say(f"{word}: the labels of an import are taken {back} in the background", Tone.NOTE)
        core.follow()

    def _told(self, word: str, shown: object, event: Event) -> None:
        """Go to the event's item and name what was undone or redone."""
        core = self._core
        if core.shown == shown:
            self._go_to(event)
        core.review.refresh()
        # The screen stays here if the event's run was removed: the same id here is another item.
        away = "" if _is_of(event, core.session.run) else ", in a run that was removed"
        what = _event_text(core.review.repeats.event(event))
        core.say(f"{word}: {what}{away}", Tone.NOTE)
        core.mark(f"saved ✓ {word}")
        core.recalibrate()
        core.show(rows=True)

    def _go_to(self, event: Event) -> None:
        """Review the run and verdict of an event; stay here if they were removed."""
        core = self._core
        if _is_of(event, core.session.run):
            if event.verdict is not None:
                core.review.goto(core.desk.find(core.session.run, event.verdict))
            return
        with contextlib.suppress(NotFoundError):
            core.review_run(core.desk.run(event.run), event.verdict)


def _is_of(event: Event, run: Run) -> bool:
    return event.run in {None, run.hash, run.name}


def _event_text(event: Event) -> str:
    """Return what an undo or redo changed, and where, in words."""
    what = show_line(str(event.detail.get("was") or event.label or event.kind))
    alone = event.verdict and event.detail.get("count", 1) == 1
    place = f" on {_clip(show_line(event.verdict or ''))}" if alone else ""
    other = f" in {show_line(event.run)}" if event.run and not event.verdict else ""
    return f"{what}{place}{other}"


def _clip(text: str, width: int = 80) -> str:
    return text if fitting(text, width) == len(text) else text[: fitting(text, width - 1)] + "…"


_NAMED = 5


class Unsaved(Struct, frozen=True):
    """The names of the writes that the end of the app left unsaved: kept in a file, or lost."""

    file: Path | None = None
    kept: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    error: ReviewDeskError | None = None

    @property
    def lines(self) -> Iterator[str]:
        """What to tell the reviewer."""
        for names, what in ((self.kept, f"kept in {self.file}"), (self.lost, "lost")):
            if names:
                yield f"not saved but {what}: {_listed(names)}. {self.error}"
        if self.kept:
            yield "They are offered when the desk is opened on the screen next."


class LastWrites:
    """Saves what waits when the app ends, or keeps it in a file."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._file: Path | None = None

    def flush(self, seconds: float) -> Unsaved:
        """Try for so long to save what waits. Its edits are in a file until they are saved."""
        outbox = self._core.outbox
        self._core.safely(self._core.review.claims.release)
        whole = outbox.drain(0)
        if not whole:
            self._keep()
            whole = outbox.drain(seconds)
        if whole and self._file is not None:
            unsaved.delete(self._file)
        left = [one for one in outbox.waiting if one.name or unsaved.can_keep(one.act)]
        kept = [one for one in left if self._file is not None and unsaved.can_keep(one.act)]
        lost = [one for one in left if one not in kept]
        return Unsaved(self._file, _names(kept), _names(lost), outbox.error)

    def _keep(self) -> None:
        core = self._core
        found = ((write.at or core.desk.clock(), write.act) for write in core.outbox.waiting)
        edits = [(at, act) for at, act in found if unsaved.can_keep(act)]
        if edits and self._file is None:
            try:
                self._file = unsaved.keep(core.desk, edits)
            except ReviewDeskError as error:
                core.outbox.error = error


def _names(writes: Sequence[Write]) -> tuple[str, ...]:
    return tuple(write.name or "an unfinished note" for write in writes)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def offer_unsaved(core: Core) -> None:
    """Ask whether to save what is kept for the reviewer; with no it stays kept."""
    if core.desk.read_only:
        return
    found = tuple(unsaved.waiting(core.desk))
    edits = [edit for file in found for edit in file.edits]
    if not edits:
        return

    def save(answer: bool | None) -> None:
        if answer:
            act = partial(unsaved.save, files=found)
            core.outbox.put(Write(act, saved, name=count, stands=False))

    def saved(left_out: int) -> None:
        core.follow()
        less = f"; {left_out:,} left out, as you labelled since" if left_out else ""
        core.say(f"saved: {count} of {edits[0].at:%Y-%m-%d %H:%M}{less}", Tone.NOTE)

    count = "1 kept change" if len(edits) == 1 else f"{len(edits):,} kept changes"
    what = _listed([edit.text for edit in edits])
    where = show_line(" and ".join(str(file.path) for file in found))
    reason = f"{what}: not saved when the app ended. With no they stay in {where}."
    core.ask(QuestionForm(f"Save {count} of {edits[0].at:%Y-%m-%d %H:%M}?", reason), save)
