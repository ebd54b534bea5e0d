"""Re-runs: the consent dialog, the ``rerun`` command and the result."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from reviewdesk.app.controllers.core import Core, Verb
from reviewdesk.app.controllers.jobs import PREPARING, RERUN, UNFINISHED, Job
from reviewdesk.desk.review import items
from reviewdesk.domain.panel import rerun as panels
from reviewdesk.domain.panel.rerun import OpenRerun, RerunRequest, RerunScope, RerunSummary
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import ReviewDeskError, UsageError
from reviewdesk.views.document import Tone
from reviewdesk.views.words import plural

if TYPE_CHECKING:
    from reviewdesk.desk.live.rerun import ReadyRerun

_USE = "rerun [shown] [juror NAME | missing | panel] [FILE]."


def look_for_unfinished(core: Core, *, tell: bool) -> None:
    """Read in the background which re-runs were cut off, and pass them to ``tell``."""

    def ended(found: object, error: ReviewDeskError | None) -> None:
        if error is not None or not isinstance(found, list):
            return
        core.unfinished = found
        if found and tell:
            key = core.keys.first("rerun") or ":rerun"
            more = len(found) - 1
            left = f"{found[-1].left:,} of {found[-1].of:,} left"
            text = f"a re-run was cut off, {left}; {key} finishes it"
            core.say(text + (f", and {more} more" if more else ""), Tone.NOTE)

    work = lambda desk, _report: items.unfinished(desk)  # noqa: E731
    core.jobs.runner.start(Job(UNFINISHED, work, ended))


def _open(core: Core, typed: RerunCommand) -> None:
    """Open the dialog, which closes with the re-run that a person agreed to."""
    from reviewdesk.app.controllers import rerun_form

    item = core.item("ask about")
    if item is None:
        return
    session = core.session
    if session.hidden:
        core.say_here("hidden until the item is labelled: it tells the panel's answers")
        return
    if not session.whole and typed.shown:
        core.say_here("the filter is still being read; try again in a moment")
        return
    core.calm()

    def given_up() -> None:
        look_for_unfinished(core, tell=False)
        core.read_reruns()

    shown = rerun_form.ShownVerdicts(session.keys, session.view.filter)
    form = rerun_form.RerunForm(
        core,
        item,
        path=typed.path or core.settings.panel,
        shown=shown if session.whole else None,
        gave_up=given_up,
    )
    core.ask(form.dialog, partial(_take_consent, core))
    asking = core.requests.pop()
    if typed.shown:
        form.turn()
    if typed.path and form.panel is not None:
        form.remember()
    # Open it below the prompt for a panel file, which a wish may need.
    core.requests.append(asking)
    if typed.wish is not None:
        form.prepare(typed.wish)


def _take_consent(core: Core, ready: ReadyRerun | None) -> None:
    core.jobs.cancel(PREPARING)
    if ready is None:
        core.say("nothing was sent", Tone.MUTED)
        return

    def heard(open_: OpenRerun) -> None:
        item = core.session.item
        if item is not None and item.row.key in open_.keys:
            core.safely(core.read_reruns)

    core.jobs.ask_again(ready, heard, partial(_ended, core))
    stop = core.keys.first("stop") or ":stop"
    about = f" about {ready.name}" if len(ready.keys) > 1 else ""
    jurors = plural(len(ready.first.seats.asked), "juror")
    core.say(f"asking {jurors} again{about}; {stop} stops", Tone.NOTE)
    core.read_reruns()


def _ended(core: Core, open_: OpenRerun, found: object, error: ReviewDeskError | None) -> None:
    """Show the result of a re-run on the status line, and redraw the current item."""
    look_for_unfinished(core, tell=False)
    core.safely(core.count_flips)
    try:
        core.review.refresh()
    except ReviewDeskError as problem:
        error = error or problem
    if error is not None:
        core.complain(error)
    else:
        summary = found if isinstance(found, RerunSummary) else None
        # A blind reviewer must not know the new decision before labelling the item.
        notice = _result_notice if open_.alone else _summary_notice
        core.say(notice(open_, summary, blind=core.session.view.blind), Tone.NOTE)
    core.show(keep=True, rows=True)


class RerunCommand(Struct, frozen=True):
    """The argument of ``:rerun``: who is asked, the panel file, and whether all shown are meant."""

    wish: RerunRequest | None = None
    path: str = ""
    shown: bool = False


def parse(text: str) -> RerunCommand:
    """Parse the argument of ``:rerun``.

    Raises:
        UsageError: the argument cannot be parsed.
    """
    try:
        words = shlex.split(text)
    except ValueError:
        raise UsageError(f"{RERUN}: a quote is not closed", f"Write {_USE}") from None
    wish: RerunRequest | None = None
    shown = words[:1] == ["shown"]
    words = words[shown:]
    if words[:1] == ["juror"]:
        if len(words) < 2:
            raise UsageError("rerun juror needs a name", f"Write {_USE}")
        wish = RerunRequest(RerunScope.JUROR, words[1])
        words = words[2:]
    elif words[:1] in (["missing"], ["panel"]):
        wish = RerunRequest(RerunScope(words[0]))
        words = words[1:]
    if len(words) > 1:
        raise UsageError(f"rerun takes one panel file, found {len(words)} words", f"Write {_USE}")
    return RerunCommand(wish, words[0] if words else "", shown)


def _result_notice(open_: OpenRerun, found: RerunSummary | None, *, blind: bool) -> str:
    """Return the result of a re-run of one verdict."""
    name = show_line(open_.verdict, 80)
    asked = len(open_.asked)
    failed = sum(one.failed for one in open_.came)
    came = len(open_.came)
    count = panels.counted(came - failed, failed)
    if open_.stopping and came < asked:
        kept = f": {count}; kept" if came else ""
        return f"{name}: {panels.stopped_after(came, asked)}{kept}"
    done = next(iter(found.done.values()), None) if found else None
    if blind or done is None:
        return f"{name}: asked again: {count}"
    word = " FLIPPED" if panels.flipped(done.before, done.after) else ""
    was, now = (one.value if one else "no decision" for one in (done.before, done.after))
    return f"{name}: asked again: {count}; {was} → {now}{word}"


def _summary_notice(open_: OpenRerun, found: RerunSummary | None, *, blind: bool) -> str:
    """Return the result of a re-run of several verdicts."""
    if found is None:
        return f"{open_.verdict}: stopped before anything was sent"
    said = found.count if blind else found.text
    stopped = "stopped: " if found.left else ""
    more = "" if blind or not found.flips else r"; \ rerun:flipped shows them"
    lost = found.turnouts.failed
    lost_text = f"; {lost:,} of {found.turnouts.ballots:,} ballots lost" if lost else ""
    return f"{stopped}{said}{lost_text}{more}"


VERBS: dict[str, Verb] = {
    "rerun": lambda core: _open(core, RerunCommand()),
    "rerun.shown": lambda core: _open(core, RerunCommand(shown=True)),
}
COMMANDS: dict[str, Callable[[Core, str], None]] = {
    "rerun": lambda core, text: _open(core, parse(text))
}
