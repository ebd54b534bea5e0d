"""The controller of what works on every screen: screens, help, commands, loading and export."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from reviewdesk.app.keys.commands import COMMANDS, complete_command, parse_command
from reviewdesk.app.keys.completion import argument_completers
from reviewdesk.app.messages import BallotArrived, JobEnded
from reviewdesk.app.paint.styled import inline
from reviewdesk.app.screens.help import HelpScreen, live_actions
from reviewdesk.app.screens.prompt import FieldInput, PromptField
from reviewdesk.app.theme.inks import THEMES, Ink
from reviewdesk.app.workers.jobs import EXPORT, INDEX, LOAD
from reviewdesk.app.workers.rerun import RerunEnded
from reviewdesk.desk import LoadOptions, files
from reviewdesk.desk.review import filters
from reviewdesk.domain.records import Loaded
from reviewdesk.errors import ReviewDeskError, UsageError

if TYPE_CHECKING:
    from reviewdesk.app.app import ReviewApp

_PREFILLED = {
    "jump": "go ",
    "filter.save": "save ",
    "filter.forget": "forget ",
    "export": "export ",
}


class DeskController:
    """Carries out the actions and commands that work on every screen."""

    def __init__(self, app: ReviewApp) -> None:
        """Act for ``app``."""
        self._app = app
        self._typed: list[str] = []
        self._review_loaded = False
        self.verbs = self._verbs()
        self._commands = self._command_table()

    def _verbs(self) -> dict[str, Callable[[], None]]:
        app = self._app
        verbs: dict[str, Callable[[], None]] = {
            "screen.queue": partial(self._pane, "queue"),
            "screen.item": partial(self._pane, "item"),
            "screen.calibration": partial(app.go, "calibration"),
            "screen.runs": partial(app.go, "runs"),
            "leave": partial(app.go, "review"),
            "help": self._help,
            "command": self.command,
            "stop": self._stop,
            "copy": self._copy,
            "quit": app.action_close_desk,
            "quit.anywhere": app.action_close_desk,
            "palette": app.action_command_palette,
        }
        for name, start in _PREFILLED.items():
            verbs[name] = partial(self.command, start)
        for name in THEMES:
            verbs[f"theme.{name}"] = partial(app.use_theme, name)
        return verbs

    def _command_table(self) -> dict[str, Callable[[str], object]]:
        app = self._app
        return {
            "queue": lambda _: self._pane("queue"),
            "item": lambda _: self._pane("item"),
            "cal": lambda _: app.go("calibration"),
            "runs": lambda _: app.go("runs"),
            "run": lambda name: app.review_run(app.review_session.desk.run(name)),
            "open": self.load,
            "export": self._export,
            "save": self._save,
            "forget": self._forget,
            "theme": app.use_theme,
            "stop": lambda _: self._stop(),
            "help": lambda _: self._help(),
            "quit": lambda _: app.action_close_desk(),
            "q": lambda _: app.action_close_desk(),
        }

    def _pane(self, name: str) -> None:
        self._app.go("review")
        self._app.review.panes.choose(name)
        self._app.review.frame()

    def _help(self) -> None:
        self._app.ask(HelpScreen(live_actions(self._app.top)), self._do_from_help)

    def _do_from_help(self, action: str | None) -> None:
        if action is not None:
            self._app.choose(action)

    def _stop(self) -> None:
        stopped = self._app.jobs.stop()
        notice = f"stopped: {', '.join(stopped)}" if stopped else "nothing runs in the background"
        self._app.top.say(notice, Ink.NOTE)
        self._app.top.frame()

    def _copy(self) -> None:
        text = self._app.screen.get_selected_text()
        if text:
            self._app.copy_to_clipboard(text)
            self._app.top.say(f"copied {len(text):,} characters", Ink.NOTE)
        else:
            close = self._app.keymap.first("quit") or "ctrl+q"
            self._app.top.say(f"nothing is selected; press {close} to close", Ink.MUTED)

    # the command line

    def command(self, start: str = "") -> None:
        """Open the command line; arrow up recalls earlier lines, also those left with escape."""
        arguments = argument_completers(self._app.review_session)
        prompt = PromptField(
            "Command",
            start,
            check=parse_command,
            complete=lambda text, cursor: complete_command(text, cursor, arguments),
            past=self._typed[-50:],
        )
        self._app.ask(prompt, self._take_command)

    def _take_command(self, answer: FieldInput | None) -> None:
        if answer is None:
            return
        if answer.text.strip():
            self._typed.append(answer.text)
        if not answer.given:
            return
        try:
            self.run(answer.text)
        except ReviewDeskError as error:
            self._app.top.complain(error)

    def run(self, text: str) -> None:
        """Carry out the command line ``text``; raise UsageError if it cannot be parsed."""
        typed = parse_command(text)
        for screen in (self._app.top, self._app.review):
            screen.calm()
        if typed.name not in COMMANDS:
            self._app.choose(typed.name)
        elif (command := self._commands.get(typed.name)) is not None:
            command(typed.argument)
        else:
            self._app.go("review")
            self._app.review.controller.commands[typed.name](typed.argument)

    def _save(self, name: str) -> None:
        review_session = self._app.review_session
        text = review_session.session.view.filter
        if not text:
            raise UsageError("there is no filter to save", "Filter first, then save it.")
        filters.save(review_session.desk, name, text)
        self._app.top.say(f"saved as @{inline(name)}: {inline(text)}", Ink.NOTE)

    def _forget(self, name: str) -> None:
        filters.forget(self._app.review_session.desk, name.removeprefix("@"))
        self._app.top.say(f"forgot @{inline(name.removeprefix('@'))}", Ink.NOTE)

    def _export(self, argument: str) -> None:
        review_session, path = self._app.review_session, files.named(argument)
        if files.run_kind(path) is not None:
            files.check_new(path)
            self._app.jobs.export(review_session.session.run, path)
            self._app.top.say(f"writing {inline(path)}", Ink.NOTE)
            self._app.top.frame()
            return
        kind = {".csv": "csv", ".yaml": "yaml", ".yml": "yaml"}.get(path.suffix, "mcptest")
        if path.name.endswith("full.jsonl"):
            kind = "full"
        text, exported = files.export(review_session.desk, review_session.session.run, kind)
        files.write_new(review_session.desk, path, text)
        notice = f"{len(exported.rows)} rows written to {path}"
        for warning in exported.warnings:
            notice += f" · {warning}"
        self._app.top.say(inline(notice), Ink.NOTE)

    # loading

    def load(self, path: str, *, review: bool = True) -> None:
        """Load a report in the background; with ``review``, show its run once it is loaded."""
        share = self._app.settings.audit_share
        self._app.jobs.load(path, LoadOptions(audit_share=share))
        # Set only now: a refused load must not change what follows the one that is running.
        self._review_loaded = review
        self._app.top.say(f"loading {inline(path)}", Ink.NOTE)
        self._app.top.frame()

    def ballot_arrived(self, message: BallotArrived) -> None:
        """Add a ballot to the running re-run, and draw it if its item is in view."""
        job = self._app.jobs.rerun
        job.arrived(message.arrival)
        self._app.review.asked(job.running)
        self._app.top.frame()

    def job_ended(self, message: JobEnded) -> None:
        """Show a job's result or error on the status line; review a run that was loaded for it."""
        top = self._app.top
        if isinstance(message.found, RerunEnded):
            self._app.review.controller.rerun.ended(message.found, message.error)
        elif message.error is not None:
            top.complain(message.error)
        elif message.name == LOAD and isinstance(message.found, Loaded):
            run = message.found.run
            known = "" if message.found.new else " (known already)"
            if self._review_loaded and not self._app.asking:
                try:
                    self._app.review_run(run)
                except ReviewDeskError as error:
                    self._app.top.complain(error)
                    return
            notice = f"loaded {inline(run.name)}: {run.verdicts:,} verdicts{known}"
            # The reader's notes depend on the panel's answers, which a blind session hides.
            blind = self._app.review_session.session.view.blind
            notes = () if blind else message.found.notes
            self._app.top.say(" · ".join([notice, *map(inline, notes)]), Ink.NOTE)
            self._app.top.arrived()
        elif message.name == EXPORT:
            top.say(f"{inline(message.found)}: written", Ink.NOTE)
            top.frame()
        elif message.name == INDEX:
            top.arrived()
        self._app.top.frame()
