"""Loading and writing files in the background, except labels, which are written at once."""

from __future__ import annotations

from pathlib import Path

from reviewdesk.app.controllers.core import Core
from reviewdesk.app.controllers.jobs import EXPORT, LOAD, Report
from reviewdesk.desk import Desk, files
from reviewdesk.domain.records import Loaded
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import ReviewDeskError
from reviewdesk.views.document import Tone

_LABEL_KINDS = {".csv": "csv", ".yaml": "yaml", ".yml": "yaml"}


def export(core: Core, argument: str) -> None:
    """Write the labels or the run, depending on the file's name; ask before replacing a file."""
    path = files.named(argument)
    files.check_target(core.desk, path, force=True)
    write = _export_labels if files.run_kind(path) is None else _export_run
    if not files.is_taken(path):
        write(core, path, force=False)
        return
    question = f"{show_line(str(path))} is there already. Replace it?"
    core.ask_yes(question, "Its present content is lost.", lambda: write(core, path, force=True))


def _export_labels(core: Core, path: Path, *, force: bool) -> None:
    full = path.name.endswith("full.jsonl")
    kind = "full" if full else _LABEL_KINDS.get(path.suffix, "mcptest")
    text, exported = files.export(core.desk, core.session.run, kind)
    files.write(core.desk, path, [text], force=force)
    written = f"{len(exported.rows)} rows written to {path}"
    core.say(" · ".join([written, *exported.warnings]), Tone.NOTE)


def _export_run(core: Core, path: Path, *, force: bool) -> None:
    run = core.session.run
    name = show_line(str(path))

    def work(desk: Desk, report: Report) -> None:
        files.write_run(desk, run, path, lambda share, _count: report(share), force=force)

    written = core.unless(lambda _: core.say(f"{name}: written", Tone.NOTE))
    core.jobs.start(EXPORT, work, written, what="a run is being written")
    core.say(f"writing {name}", Tone.NOTE)


def load(core: Core, path: str) -> None:
    """Load a report in the background; then review its run, unless a dialog is open."""
    from reviewdesk.desk import LoadOptions

    options = LoadOptions(audit_share=core.settings.audit_share)

    def work(desk: Desk, report: Report) -> Loaded:
        return files.open_file(desk, path, options, lambda share, _count: report(share))

    def ended(found: object, error: ReviewDeskError | None) -> None:
        if error is not None:
            core.complain(error)
        if not isinstance(found, Loaded):
            return
        if not core.asking:
            core.review_run(found.run)
        known = "" if found.new else " (known already)"
        notice = f"loaded {show_line(found.run.name)}: {found.run.verdicts:,} verdicts{known}"
        # The reader's notes depend on the panel's answers, which a blind session hides.
        notes = () if core.session.view.blind else found.notes
        core.say(" · ".join([notice, *map(show_line, notes)]), Tone.NOTE)
        if core.page is not None:
            core.page.arrived()

    core.jobs.start(LOAD, work, ended, what="a report is being loaded")
    core.say(f"loading {show_line(path)}", Tone.NOTE)
