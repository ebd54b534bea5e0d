"""The controller of what works on every screen: screens, help, files and the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from reviewdesk.app.controllers.core import CALIBRATION, REVIEW, RUNS, Core
from reviewdesk.app.controllers.jobs import EXPORT, LOAD, Report
from reviewdesk.app.controllers.requests import (
    Choice,
    Close,
    Copy,
    DialogPage,
    FieldInput,
    HelpForm,
    OpenPalette,
    PromptForm,
    QuestionForm,
    Redraw,
    TakeLines,
    TakeSelection,
    UseTheme,
    one_page,
)
from reviewdesk.app.keys import commands
from reviewdesk.app.keys import commands as completion
from reviewdesk.app.keys.actions import THEMES
from reviewdesk.app.keys.keymap import refuse_withheld
from reviewdesk.app.preferences import PreferenceController
from reviewdesk.desk import Desk, files
from reviewdesk.desk.review import filters
from reviewdesk.domain.records import Loaded, Run
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import ReviewDeskError, UsageError
from reviewdesk.views import glossary
from reviewdesk.views.document import Tone

_LABEL_KINDS = {".csv": "csv", ".yaml": "yaml", ".yml": "yaml"}


class FileController:
    """Loads and writes in the background, except labels, which are written at once."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.commands: dict[str, Callable[[str], object]] = {
            "open": self.load,
            "export": self._export,
        }

    def _export(self, argument: str) -> None:
        core = self._core
        path = files.named(argument)
        files.check_target(core.desk, path, force=True)
        write = self._export_labels if files.run_kind(path) is None else self._export_run
        if not files.is_taken(path):
            write(path)
            return

        def answered(replace: bool | None) -> None:
            if replace:
                write(path, force=True)

        question = f"{show_line(str(path))} is there already. Replace it?"
        core.ask(QuestionForm(question, "Its present content is lost."), answered)

    def _export_labels(self, path: Path, *, force: bool = False) -> None:
        core = self._core
        full = path.name.endswith("full.jsonl")
        kind = "full" if full else _LABEL_KINDS.get(path.suffix, "mcptest")
        text, exported = files.export(core.desk, core.session.run, kind)
        files.write(core.desk, path, [text], force=force)
        written = f"{len(exported.rows)} rows written to {path}"
        core.say(" · ".join([written, *exported.warnings]), Tone.NOTE)

    def _export_run(self, path: Path, *, force: bool = False) -> None:
        core = self._core
        run = self._core.session.run

        def ended(found: object, error: ReviewDeskError | None) -> None:
            if error is not None:
                core.complain(error)
            else:
                core.say(f"{show_line(str(found))}: written", Tone.NOTE)

        def work(desk: Desk, report: Report) -> Path:
            files.write_run(desk, run, path, lambda share, _count: report(share), force=force)
            return path

        core.jobs.start(EXPORT, work, ended, what="a run is being written")
        core.say(f"writing {show_line(str(path))}", Tone.NOTE)

    def load(self, path: str, then: Callable[[Run], None] | None = None) -> None:
        """Load a report in the background; once it is loaded, review its run or do ``then``."""
        from reviewdesk.desk import LoadOptions

        options = LoadOptions(audit_share=self._core.settings.audit_share)

        def work(desk: Desk, report: Report) -> Loaded:
            return files.open_file(desk, path, options, lambda share, _count: report(share))

        ended = partial(self._loaded, then)
        self._core.jobs.start(LOAD, work, ended, what="a report is being loaded")
        self._core.say(f"loading {show_line(path)}", Tone.NOTE)

    def _loaded(
        self, then: Callable[[Run], None] | None, found: object, error: ReviewDeskError | None
    ) -> None:
        """Say what was loaded; review it if it was loaded for that and no dialog is open."""
        core = self._core
        if error is not None:
            core.complain(error)
        if not isinstance(found, Loaded):
            return
        if then is None and not core.asking:
            core.review_run(found.run)
        known = "" if found.new else " (known already)"
        notice = f"loaded {show_line(found.run.name)}: {found.run.verdicts:,} verdicts{known}"
        # The reader's notes depend on the panel's answers, which a blind session hides.
        notes = () if core.session.view.blind else found.notes
        core.say(" · ".join([notice, *map(show_line, notes)]), Tone.NOTE)
        if core.page is not None:
            core.page.arrived()
        if then is not None:
            then(found.run)


_PREFILLED = {
    "jump": "go ",
    "filter.save": "save ",
    "filter.forget": "forget ",
    "export": "export ",
}


class DeskController:
    """Carries out the actions and commands that work on every screen."""

    def __init__(
        self,
        core: Core,
        choose: Callable[[str], None],
        commands: dict[str, Callable[[str], None]],
        *,
        colourless: bool,
    ) -> None:
        """Act on ``core``; ``choose`` starts an action by name, ``commands`` act on the review."""
        self._core = core
        self._choose = choose
        self._on_review = commands
        self._colourless = colourless
        self._typed: list[str] = []
        self._files = FileController(core)
        self.preferences = PreferenceController(core)
        self._commands = {**self._command_table(), **self._files.commands}

    @property
    def verbs(self) -> dict[str, Callable[[], None]]:
        """The methods that carry out this controller's actions, by action id."""
        core = self._core
        verbs: dict[str, Callable[[], None]] = {
            "screen.queue": partial(self._pane, "queue"),
            "screen.item": partial(self._pane, "item"),
            "screen.calibration": self._calibration,
            "screen.runs": self._runs,
            "leave": self._leave,
            "help": self._help,
            "explain": self._explain,
            "command": self._command,
            "stop": self._stop,
            "copy": lambda: core.requests.append(TakeSelection(self._copy)),
            "quit": self.close,
            "quit.anywhere": self.close,
            **self.preferences.verbs,
            "palette": lambda: core.requests.append(OpenPalette()),
            "redraw": lambda: core.requests.append(Redraw()),
        }
        for name, start in _PREFILLED.items():
            verbs[name] = partial(self._command, start)
        for name in THEMES:
            verbs[f"theme.{name}"] = partial(self._use_theme, name)
        return verbs

    def _command_table(self) -> dict[str, Callable[[str], object]]:
        core = self._core
        return {
            "queue": lambda _: self._pane("queue"),
            "item": lambda _: self._pane("item"),
            "cal": lambda _: self._calibration(),
            "runs": lambda _: self._runs(),
            "run": lambda name: core.review_run(core.desk.run(name)),
            "compare": self._compare,
            "save": self._save,
            "forget": self._forget,
            "theme": self._use_theme,
            "stop": lambda _: self._stop(),
            "help": lambda _: self._help(),
            "quit": lambda _: self.close(),
            "q": lambda _: self.close(),
        }

    # screens

    def go(self, where: str) -> None:
        {REVIEW: self._leave, CALIBRATION: self._calibration, RUNS: self._runs}[where]()

    def _leave(self) -> None:
        self._core.go(None)

    def _calibration(self) -> None:
        from reviewdesk.app.controllers import pages as calibration

        page = calibration.CalibrationController(
            self._core, lambda text: self.run(f"filter {text}")
        )
        if self._core.go(page):
            page.turn(0)

    def _runs(self) -> None:
        from reviewdesk.app.controllers import pages as runs

        page = runs.RunsController(self._core, self._files.load, self._compare)
        if self._core.go(page):
            page.arrived()

    def _compare(self, name: str) -> None:
        from reviewdesk.app.controllers import pages as runs

        runs.PanelsController(self._core, self._filter).named(name)

    def _filter(self, text: str) -> None:
        self.run(f"filter {text}")

    def _pane(self, name: str) -> None:
        self._core.go(None)
        self._core.choose(name)

    def _help(self) -> None:
        def answered(action: str | None) -> None:
            if action is not None:
                self._choose(action)

        self._core.ask(HelpForm(), answered)

    def _explain(self) -> None:
        """Open a dialog with the terms in view; what is nearest to the top is the chosen one."""
        core = self._core

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

    def _use_theme(self, name: str) -> None:
        if name not in THEMES:
            raise UsageError(f"no theme {name!r}", f"Themes: {', '.join(THEMES)}.")
        if self._colourless:
            raise UsageError("NO_COLOR is set, so there are no colours to choose", "Unset it.")
        self._core.settings = self._core.settings.choosing({"theme": name})
        self._core.requests.append(UseTheme(name))

    def _stop(self) -> None:
        stopped = self._core.jobs.stop()
        notice = f"stopped: {', '.join(stopped)}" if stopped else "nothing runs in the background"
        self._core.say(notice, Tone.NOTE)

    def _copy(self, text: str) -> None:
        if text:
            self._core.requests.append(Copy(text))
            self._core.say(f"copied {len(text):,} characters", Tone.NOTE)
        else:
            close = self._core.keys.first("quit") or "ctrl+q"
            self._core.say(f"nothing is selected; press {close} to close", Tone.MUTED)

    def close(self) -> None:
        """Close; ask first if something is not on disk yet, or a re-run is under way."""
        question = self._core.outbox.question or self._core.jobs.question
        if question is None:
            self.end()
        else:
            self._core.ask(question, lambda answer: self.end() if answer else None)

    def end(self) -> None:
        """Save the view and close, whatever waits to be saved."""
        self._core.jobs.stop()
        self._core.requests.append(Close())
        # Both are a convenience: failing to save them must not keep the app open.
        self._core.safely(self._core.review.save)
        self._core.safely(self._core.review.claims.release)
        self._core.safely(self.preferences.close)
        self._core.outbox.stop()

    # the command line

    def _command(self, start: str = "") -> None:
        """Open the command line; arrow up recalls earlier lines, also those left with escape."""
        arguments = completion.argument_completers(self._core.desk, self._core.session)
        form = PromptForm(
            "Command",
            start,
            check=commands.parse_command,
            complete=lambda text, cursor: commands.complete_command(text, cursor, arguments),
            past=self._typed[-50:],
        )
        self._core.ask(form, self._take_command)

    def _take_command(self, answer: FieldInput | None) -> None:
        if answer is None:
            return
        if answer.text.strip():
            self._typed.append(answer.text)
        if answer.given:
            self.run(answer.text)

    def run(self, text: str) -> None:
        """Carry out the command line ``text``; raise UsageError if it cannot be parsed."""
        typed = commands.parse_command(text)
        core = self._core
        core.calm()
        core.calm(REVIEW)
        refuse_withheld(core.keys, typed.name)
        if (command := self._commands.get(typed.name)) is not None:
            command(typed.argument)
        else:
            core.go(None)
            self._on_review[typed.name](typed.argument)

    def _save(self, name: str) -> None:
        text = self._core.session.view.filter
        if not text:
            raise UsageError("there is no filter to save", "Filter first, then save it.")
        filters.save(self._core.desk, name, text)
        self._core.say(f"saved as @{show_line(name)}: {show_line(text)}", Tone.NOTE)

    def _forget(self, name: str) -> None:
        name = name.removeprefix("@")
        filters.forget(self._core.desk, name)
        self._core.say(f"forgot @{show_line(name)}", Tone.NOTE)


def _terms_of_item(core: Core) -> tuple[glossary.GlossaryTerm, ...]:
    """Return the terms of the item's verdict; those of a hidden one would tell of its answer."""
    session = core.session
    if core.where != REVIEW or session.item is None:
        return ()
    if session.hidden:
        return (glossary.find("blind"),)
    found = session.item.assessment
    strip = ("accuracy", "false passes", "flagged", "random check")
    of_strip = (glossary.find(word) for word in strip)
    return (*glossary.of_verdict(found.notes, found.rule.used), *of_strip)
