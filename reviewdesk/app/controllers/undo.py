"""Undo and redo, and what becomes of edits that are unsaved when the app ends."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from reviewdesk.app.controllers.core import Core, Verb
from reviewdesk.app.controllers.jobs import UNDO
from reviewdesk.app.controllers.saving import Write
from reviewdesk.app.texts.layout import fitting
from reviewdesk.desk.review import edits, unsaved
from reviewdesk.domain.records import Event
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import DeskError, NotFoundError, ReviewDeskError
from reviewdesk.views.document import Tone

_WAIT = "Wait for its end, or stop it with :stop; the next u or U goes on with it."


def _undo(core: Core, word: str) -> None:
    """Undo or redo what is being saved, else the newest action of the desk."""
    write = core.outbox.bring_back() if word == "redo" else core.outbox.take_back()
    if write is not None and write.item is not None:
        item = write.item
        if item.run.key != core.session.run.key:
            core.review_run(item.run, item.verdict.id)
        else:
            core.review.goto(item.row.key)
        core.review.refresh()
        core.show(rows=True)
        core.say(f"{word}: {show_line(write.name)}, before it was saved", Tone.NOTE)
        return
    if core.jobs.runs(UNDO):
        raise DeskError("an import is being taken back or brought back", _WAIT)
    shown = core.shown

    def saved(event: Event | None) -> None:
        if event is None:
            core.say(f"Nothing to {word}.", Tone.MUTED)
        elif edits.is_import(core.desk, event):
            _turn_import(core, word, shown, event)
        else:
            _told(core, word, shown, event)

    if not core.outbox.put(Write(edits.Turn(word), saved, name=word, stands=False)):
        core.say(f"{word}: waits for another process to finish its write", Tone.NOTE)


def _turn_import(core: Core, word: str, shown: object, begun: Event) -> None:
    """Undo or redo the rest of an import in the background."""

    def ended(event: object, error: ReviewDeskError | None) -> None:
        if isinstance(event, Event):
            _told(core, word, shown, event)
        elif error is not None:
            core.complain(error)
            core.follow()

    work = lambda desk, report: edits.rest(desk, begun, report)  # noqa: E731
    core.jobs.start(UNDO, work, ended, what=f"the {word} of an import")
    back = "back" if word == "undo" else "in again"
    core.say(f"{word}: the labels of an import are taken {back} in the background", Tone.NOTE)
    core.follow()


def _told(core: Core, word: str, shown: object, event: Event) -> None:
    """Name what was undone or redone; go to its item if what was ``shown`` is in view still."""
    here = event.run in {None, core.session.run.hash, core.session.run.name}
    if core.shown == shown and not here:
        with contextlib.suppress(NotFoundError):
            core.review_run(core.desk.run(event.run), event.verdict)
    elif core.shown == shown and event.verdict is not None:
        core.review.goto(core.desk.find(core.session.run, event.verdict))
    core.review.refresh()
    # The screen stays here if the event's run was removed: the same id here is another item.
    here = event.run in {None, core.session.run.hash, core.session.run.name}
    away = "" if here else ", in a run that was removed"
    event = core.review.repeats.event(event)
    what = show_line(str(event.detail.get("was") or event.label or event.kind))
    if event.verdict and event.detail.get("count", 1) == 1:
        name = show_line(event.verdict)
        kept = fitting(name, 80)
        what += f" on {name if kept == len(name) else name[: fitting(name, 79)] + '…'}"
    if event.run and not event.verdict:
        what += f" in {show_line(event.run)}"
    core.say(f"{word}: {what}{away}", Tone.NOTE)
    core.mark(f"saved ✓ {word}")
    core.recalibrate()
    core.show(rows=True)


VERBS: dict[str, Verb] = {"undo": partial(_undo, word="undo"), "redo": partial(_undo, word="redo")}
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


def flush(core: Core, seconds: float) -> Unsaved:
    """Try for so long to save what waits. Its edits are in a file until they are saved."""
    outbox = core.outbox
    core.safely(core.review.claims.release)
    whole = outbox.drain(0)
    if not whole:
        _keep(core)
        whole = outbox.drain(seconds)
    if whole and core.kept_file is not None:
        unsaved.delete(core.kept_file)
    left = [one for one in outbox.waiting if one.name or unsaved.can_keep(one.act)]
    kept = [one for one in left if core.kept_file is not None and unsaved.can_keep(one.act)]
    names = tuple(one.name or "an unfinished note" for one in kept)
    lost = tuple(one.name or "an unfinished note" for one in left if one not in kept)
    return Unsaved(core.kept_file, names, lost, outbox.error)


def _keep(core: Core) -> None:
    found = ((write.at or core.desk.clock(), write.act) for write in core.outbox.waiting)
    edits = [(at, act) for at, act in found if unsaved.can_keep(act)]
    if edits and core.kept_file is None:
        try:
            core.kept_file = unsaved.keep(core.desk, edits)
        except ReviewDeskError as error:
            core.outbox.error = error


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def offer_unsaved(core: Core) -> None:
    """Ask whether to save what is kept for the reviewer; with no it stays kept."""
    found = () if core.desk.read_only else tuple(unsaved.waiting(core.desk))
    edits = [edit for file in found for edit in file.edits]
    if not edits:
        return
    count = "1 kept change" if len(edits) == 1 else f"{len(edits):,} kept changes"
    of = f"{count} of {edits[0].at:%Y-%m-%d %H:%M}"

    def saved(left_out: int) -> None:
        core.follow()
        less = f"; {left_out:,} left out, as you labelled since" if left_out else ""
        core.say(f"saved: {of}{less}", Tone.NOTE)

    def save() -> None:
        act = partial(unsaved.save, files=found)
        core.outbox.put(Write(act, saved, name=count, stands=False))

    what = _listed([edit.text for edit in edits])
    where = show_line(" and ".join(str(file.path) for file in found))
    reason = f"{what}: not saved when the app ended. With no they stay in {where}."
    core.ask_yes(f"Save {of}?", reason, save)
