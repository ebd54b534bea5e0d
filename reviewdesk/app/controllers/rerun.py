"""The controller of re-runs: the consent dialog, the ``rerun`` command and the result."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

from reviewdesk.app.controllers.label_guard import LabelGuard
from reviewdesk.app.controllers.rerun_result import counted, stopped_after
from reviewdesk.app.paint.styled import inline
from reviewdesk.app.screens.rerun import RerunDialog
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.workers.rerun import RERUN, RerunEnded
from reviewdesk.domain.panel.rerun import RerunRequest, RerunScope, flipped
from reviewdesk.errors import ReviewDeskError, UsageError

if TYPE_CHECKING:
    from reviewdesk.app.screens.review import ReviewScreen
    from reviewdesk.desk.live.rerun import PreparedRerun

_USE = "rerun [juror NAME | missing | panel] [FILE]."


class RerunController:
    """Re-runs jurors on the current item."""

    def __init__(self, screen: ReviewScreen) -> None:
        """Act for ``screen``."""
        self._screen = screen
        self._path: str | None = None
        """The panel file last chosen in this session: "" is the report's, ``None`` none yet."""

    def verbs(self) -> dict[str, Callable[[], None]]:
        """Return the methods that carry out this controller's actions, by action id."""
        return {"rerun": lambda: self._open(None, "")}

    def commands(self) -> dict[str, Callable[[str], None]]:
        """Return the methods that carry out this controller's commands, by command name."""
        return {"rerun": lambda text: self._open(*parse(text))}

    def _open(self, wish: RerunRequest | None, path: str) -> None:
        screen, item = self._screen, self._screen.session.item
        if item is None:
            screen.say_here("No item to ask about here.")
            return
        if screen.session.hidden:
            screen.say_here("hidden until the item is labelled: it tells the panel's answers")
            return
        app = screen.desk_app
        app.jobs.rerun.check()
        screen.calm()
        if path:
            self._path = path
        chosen = app.settings.panel if self._path is None else self._path
        guard = LabelGuard(app.clock, app.settings.repeat_guard / 1000)
        dialog = RerunDialog(
            screen.review_session.desk, item, guard, path=chosen, named=self._set_path, wish=wish
        )
        app.ask(dialog, self._take_consent)

    def _set_path(self, path: str) -> None:
        self._path = path

    def _take_consent(self, prepared: PreparedRerun | None) -> None:
        screen = self._screen
        if prepared is None:
            screen.say("nothing was sent", Ink.MUTED)
            return
        job = screen.desk_app.jobs.rerun
        try:
            job.start(prepared)
        except ReviewDeskError as error:
            screen.complain(error)
            return
        stop = screen.desk_app.keymap.first("stop") or ":stop"
        screen.say(f"asking {len(prepared.calls)} jurors again; {stop} stops", Ink.NOTE)
        screen.asked(job.running)
        screen.frame()

    def ended(self, ended: RerunEnded, error: ReviewDeskError | None) -> None:
        """Show the result of a re-run on the status line, and redraw the current item."""
        screen = self._screen
        try:
            screen.review_session.refresh()
        except ReviewDeskError as problem:
            error = error or problem
        top = screen.desk_app.top
        if error is not None:
            top.complain(error)
        else:
            # A blind reviewer must not know the new decision before labelling the item.
            top.say(_result_notice(ended, blind=screen.session.view.blind), Ink.NOTE)
        if screen.ready:
            screen.show(keep=True, rows=True)


def parse(text: str) -> tuple[RerunRequest | None, str]:
    """Parse the argument of ``:rerun``: who is asked, and the panel file, empty if none is named.

    Raises:
        UsageError: the argument cannot be parsed.
    """
    try:
        words = shlex.split(text)
    except ValueError:
        raise UsageError(f"{RERUN}: a quote is not closed", f"Write {_USE}") from None
    wish: RerunRequest | None = None
    if words[:1] == ["juror"]:
        if len(words) < 2:
            raise UsageError("rerun juror needs a name", f"Write {_USE}")
        wish, words = RerunRequest(RerunScope.JUROR, words[1]), words[2:]
    elif words[:1] in (["missing"], ["panel"]):
        wish, words = RerunRequest(RerunScope(words[0])), words[1:]
    if len(words) > 1:
        raise UsageError(f"rerun takes one panel file, found {len(words)} words", f"Write {_USE}")
    return wish, words[0] if words else ""


def _result_notice(ended: RerunEnded, *, blind: bool) -> str:
    name, count = inline(ended.verdict, 80), counted(ended.answered, ended.failed)
    if ended.stopped:
        came = ended.answered + ended.failed
        kept = f": {count}; kept" if came else ""
        return f"{name}: {stopped_after(came, ended.asked)}{kept}"
    if blind or ended.told is None:
        return f"{name}: asked again: {count}"
    made, before = ended.told.rerun.assessment.decision, ended.before
    word = " FLIPPED" if flipped(before, made) else ""
    was, now = (one.value if one else "no decision" for one in (before, made))
    return f"{name}: asked again: {count}; {was} → {now}{word}"
