"""The controller of files: loading reports, writing labels and runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from reviewdesk.app.controllers.core import Core
from reviewdesk.app.controllers.jobs import EXPORT, LOAD, Report
from reviewdesk.app.controllers.requests import QuestionForm
from reviewdesk.desk import Desk, files
from reviewdesk.domain.records import Loaded, Run
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import ReviewDeskError
from reviewdesk.views.document import Tone

_LABEL_KINDS = {".csv": "csv", ".yaml": "yaml", ".yml": "yaml"}


class FileController:
    """Loads and writes in the background, except labels, which are written at once."""

    def __init__(self, core: Core) -> None:
        """Act on the desk of ``core``."""
        self._core = core

    @property
    def commands(self) -> dict[str, Callable[[str], object]]:
        """The methods that carry out this controller's commands, by command name."""
        return {"open": self.load, "export": self._export}

    def _export(self, argument: str) -> None:
        core, path = self._core, files.named(argument)
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
        core, run = self._core, self._core.session.run

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
