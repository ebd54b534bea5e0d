"""The edits that are unsaved when the app ends: kept in a file, offered at the next opening."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from reviewdesk.app.controllers.core import Core
from reviewdesk.app.controllers.requests import QuestionForm
from reviewdesk.app.controllers.work.outbox import Write
from reviewdesk.desk.review import unsaved
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import ReviewDeskError
from reviewdesk.views.document import Tone

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
        """Act on the outbox of ``core``."""
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
