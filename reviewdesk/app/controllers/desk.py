"""What works on every screen: screens, help, the choices that a desk keeps, the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from reviewdesk.app import preferences
from reviewdesk.app.controllers import files, item, queue, rerun, team
from reviewdesk.app.controllers.core import CALIBRATION, REVIEW, RUNS, Core, Verb
from reviewdesk.app.controllers.state import (
    Choice,
    Close,
    Copy,
    DialogPage,
    FieldInput,
    HelpForm,
    OpenPalette,
    PromptForm,
    Redraw,
    TakeLines,
    TakeSelection,
    UseTheme,
    one_page,
)
from reviewdesk.app.keys.actions import THEMES
from reviewdesk.app.keys.commands import argument_completers, complete_command, parse_command
from reviewdesk.app.keys.keymap import refuse_withheld
from reviewdesk.desk.figures import question as questions
from reviewdesk.desk.review import filters
from reviewdesk.domain.labels.question import RunAnswer, parse_question
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import UsageError
from reviewdesk.views import glossary
from reviewdesk.views.document import Tone
from reviewdesk.views.question import strip_line

# screens


def go(core: Core, where: str) -> None:
    """Bring a screen into view."""
    from reviewdesk.app.controllers import pages

    if where == REVIEW:
        core.go(None)
    elif where == CALIBRATION and core.go(page := pages.CalibrationController(core)):
        page.turn(0)
    elif where == RUNS and core.go(runs := pages.RunsController(core)):
        runs.arrived()


def _compare(core: Core, name: str) -> None:
    from reviewdesk.app.controllers import pages

    pages.compare(core, name)


def _help(core: Core) -> None:
    core.ask(HelpForm(), lambda action: None if action is None else core.do(action))


def _explain(core: Core) -> None:
    """Open a dialog with the terms in view; what is nearest to the top is the chosen one."""

    def took(lines: Sequence[str]) -> None:
        # Beside an item, words of its own texts are no terms of the screen.
        terms = _terms_of_item(core) or glossary.mentioned(lines)
        if terms:
            keys = ("enter", "next"), ("j k", "move"), ("esc", "closes")
            choices = [Choice(term.word, below=term.text) for term in terms]
            page = DialogPage("What is in view", keys, choices=choices)
            core.ask(one_page(page, closes=frozenset("qe")), lambda _: None)
        else:
            core.say_here("no figure is in view; reviewdesk explain lists every word")

    core.requests.append(TakeLines(took))


def _terms_of_item(core: Core) -> tuple[glossary.GlossaryTerm, ...]:
    """Return the terms of the item's verdict; those of a hidden one would tell of its answer."""
    session = core.session
    if core.where != REVIEW or session.item is None:
        return ()
    if session.hidden:
        return (glossary.find("blind"),)
    found = session.item.assessment
    strip = ("accuracy", "false passes", "flagged", "random check")
    return (*glossary.of_verdict(found.notes, found.rule.used), *map(glossary.find, strip))


def _use_theme(core: Core, name: str) -> None:
    if name not in THEMES:
        raise UsageError(f"no theme {name!r}", f"Themes: {', '.join(THEMES)}.")
    if core.colourless:
        raise UsageError("NO_COLOR is set, so there are no colours to choose", "Unset it.")
    core.settings = core.settings.choosing({"theme": name})
    core.requests.append(UseTheme(name))


def _stop(core: Core) -> None:
    stopped = core.jobs.stop()
    notice = f"stopped: {', '.join(stopped)}" if stopped else "nothing runs in the background"
    core.say(notice, Tone.NOTE)


def _copy(core: Core) -> None:
    def took(text: str) -> None:
        if text:
            core.requests.append(Copy(text))
            core.say(f"copied {len(text):,} characters", Tone.NOTE)
        else:
            close = core.keys.first("quit") or "ctrl+q"
            core.say(f"nothing is selected; press {close} to close", Tone.MUTED)

    core.requests.append(TakeSelection(took))


def close(core: Core) -> None:
    """Close; ask first if something is not on disk yet, or a re-run is under way."""
    question = core.outbox.question or core.jobs.question
    if question is None:
        end(core)
    else:
        core.ask(question, lambda answer: end(core) if answer else None)


def end(core: Core) -> None:
    """Save the view and close, whatever waits to be saved."""
    core.jobs.stop()
    core.requests.append(Close())
    # These are a convenience: failing to save them must not keep the app open.
    core.safely(core.review.save)
    core.safely(core.review.claims.release)
    core.safely(preferences.close, core)
    core.outbox.stop()


# the command line


def _command(core: Core, start: str = "") -> None:
    """Open the command line; arrow up recalls earlier lines, also those left with escape."""
    arguments = argument_completers(core.desk, core.session)

    def take(answer: FieldInput | None) -> None:
        if answer is not None and answer.text.strip():
            core.past["command"].append(answer.text)
        if answer is not None and answer.given:
            run(core, answer.text)

    form = PromptForm(
        "Command",
        start,
        check=parse_command,
        complete=lambda text, cursor: complete_command(text, cursor, arguments),
        past=core.past["command"][-50:],
    )
    core.ask(form, take)


def run(core: Core, text: str) -> None:
    """Carry out the command line ``text``; raise UsageError if it cannot be parsed."""
    typed = parse_command(text)
    core.calm()
    core.calm(REVIEW)
    refuse_withheld(core.keys, typed.name)
    if (command := COMMANDS.get(typed.name)) is not None:
        command(core, typed.argument)
    elif (verb := _NAMED.get(typed.name)) is not None:
        VERBS[verb](core)
    else:
        core.go(None)
        _ON_REVIEW[typed.name](core, typed.argument)


def _save(core: Core, name: str) -> None:
    text = core.session.view.filter
    if not text:
        raise UsageError("there is no filter to save", "Filter first, then save it.")
    filters.save(core.desk, name, text)
    core.say(f"saved as @{show_line(name)}: {show_line(text)}", Tone.NOTE)


def _forget(core: Core, name: str) -> None:
    name = name.removeprefix("@")
    filters.forget(core.desk, name)
    core.say(f"forgot @{show_line(name)}", Tone.NOTE)


def _ask(core: Core, text: str) -> None:
    """Ask the run a question, close the one that is open, or say how it stands."""
    desk = core.desk
    run = core.session.run
    if text == "close":
        found: RunAnswer | None = questions.close(desk, run)
    elif text:
        found = questions.ask(desk, run, parse_question(text))
    else:
        found = questions.answer(desk, run)
    if found is None:
        raise UsageError("nothing was asked yet", "Ask, for example, :ask accuracy >= 0.9")
    core.review.asked = tuple(questions.asked_keys(desk, run))
    core.say(strip_line(found, blind=core.session.view.blind), Tone.NOTE)
    core.recalibrate()


VERBS: dict[str, Verb] = {
    "screen.queue": lambda core: core.pane("queue"),
    "screen.item": lambda core: core.pane("item"),
    "screen.calibration": partial(go, where=CALIBRATION),
    "screen.runs": partial(go, where=RUNS),
    "leave": partial(go, where=REVIEW),
    "help": _help,
    "explain": _explain,
    "command": _command,
    "jump": partial(_command, start="go "),
    "filter.save": partial(_command, start="save "),
    "filter.forget": partial(_command, start="forget "),
    "export": partial(_command, start="export "),
    "stop": _stop,
    "copy": _copy,
    "quit": close,
    "quit.anywhere": close,
    "kept.forget": preferences.forget,
    "palette": lambda core: core.requests.append(OpenPalette()),
    "redraw": lambda core: core.requests.append(Redraw()),
    **{f"theme.{name}": partial(_use_theme, name=name) for name in THEMES},
}
COMMANDS: dict[str, Callable[[Core, str], object]] = {
    "run": lambda core, name: core.review_run(core.desk.run(name)),
    "compare": _compare,
    "save": _save,
    "forget": _forget,
    "theme": _use_theme,
    "ask": _ask,
    "open": files.load,
    "export": files.export,
}
_NAMED = {
    "queue": "screen.queue", "item": "screen.item", "cal": "screen.calibration",
    "runs": "screen.runs", "stop": "stop", "help": "help", "quit": "quit", "q": "quit",
}  # fmt: skip
"""The commands that do what an action does."""
_ON_REVIEW = queue.COMMANDS | item.COMMANDS | rerun.COMMANDS | team.COMMANDS
