"""From labels to a better panel: where it is wrong, candidates, tries on a holdout, adoption."""

from pathlib import Path
from typing import Any

import click

from reviewdesk.cli.common import (
    ProgressLine,
    chosen_run,
    complete_files,
    current_settings,
    flag,
    leave,
    of_run,
    open_desk,
    option,
    options,
    put,
    put_json,
    put_result,
    say,
    say_section,
    wants_json,
)
from reviewdesk.cli.live import check_terminal, limit_options, require_consent
from reviewdesk.cli.plain import document_text
from reviewdesk.cli.terminal import can_ask
from reviewdesk.desk.core import Desk
from reviewdesk.desk.labels.split import make_split, split_labels
from reviewdesk.domain.labels.improve import SplitLabels, WrittenCandidate
from reviewdesk.domain.records import Run
from reviewdesk.errors import Cancelled, ExitCode, UsageError
from reviewdesk.system.terminal import edited
from reviewdesk.views import improve as views
from reviewdesk.views.document import Document, plain
from reviewdesk.views.panel import consent, fault_counts

_EPILOG = """\b
Examples:
  reviewdesk improve split
  reviewdesk improve --panel panel.yaml
  reviewdesk improve make threshold=0.6 --panel panel.yaml
  reviewdesk improve try panel+threshold-0.6.yaml
  reviewdesk improve adopt panel+threshold-0.6.yaml"""
_PATH = click.Path(exists=True, dir_okay=False, path_type=Path)
_NEEDED = option("--panel", "FILE", "The panel file to improve.", type=_PATH, required=True)
_CANDIDATE = click.argument("candidate", type=_PATH, shell_complete=complete_files)


@click.group(invoke_without_command=True, epilog=_EPILOG)
@option("--panel", "FILE", "The panel file to improve.", type=_PATH)
@options("run", "json")
def improve(*, panel: Path | None, run_name: str | None) -> None:
    """Improve a panel with labels; test it on other labels.

    Shows where the panel is wrong in the tuning half of the labels; with --panel, also what may be
    changed. The other half, the holdout, is kept for `improve try`.
    """
    if click.get_current_context().invoked_subcommand is not None:
        return
    from reviewdesk.desk.improve import offers

    with open_desk() as desk:
        labels = split_labels(desk, chosen_run(desk, run_name))
        found = {} if panel is None else offers(labels, panel)
    _put_page(labels, found)


def _put_page(labels: SplitLabels, offers: dict[str, int | None]) -> None:
    from reviewdesk.views.json.figures import improvement

    put_result(improvement(labels, offers), views.improve(labels, offers))
    if not labels.split.seed:
        say("next: reviewdesk improve split")
    elif not offers:
        say("next: reviewdesk improve --panel FILE shows what may be changed")


@improve.command(epilog="Example: reviewdesk improve split --run support-bot")
@flag("--open open_labels", "Also use labels that were not given blind.")
@of_run
@options("json")
def split(desk: Desk, run: Run, *, open_labels: bool) -> None:
    """Split the labels into a tuning half and a holdout.

    Near-copies stay in one half. Run again, it adds the labels given since; no item changes its
    half. Labels given blind are split, or all with --open.
    """
    _put_page(make_split(desk, run, open_labels=open_labels), {})


@improve.command(epilog="Example: reviewdesk improve make without=haiku --panel panel.yaml")
@click.argument("change")
@_NEEDED
@of_run
@options("json")
def make(desk: Desk, run: Run, *, change: str, panel: Path) -> None:
    """Write a candidate beside its panel.

    CHANGE is strategy=NAME, threshold=0.6, quorum=2/3, without=JUROR, weights, examples, or
    model=JUROR:VENDOR/MODEL. Examples and weights come from the tuning half.
    """
    from reviewdesk.desk.improve import made

    _put_candidate(made(split_labels(desk, run), panel, change))


@improve.command(epilog="Example: reviewdesk improve edit --panel panel.yaml")
@_NEEDED
@of_run
@options("json")
def edit(desk: Desk, run: Run, *, panel: Path) -> None:
    """Edit the rubric or a prompt, in $EDITOR.

    The wrong items of the tuning half are listed below the panel as comments.
    """
    from reviewdesk.desk import improve as candidates

    if not can_ask():
        hint = "Any panel file that is called PANEL+CHANGE.yaml is a candidate: write one yourself."
        raise UsageError("there is no terminal for an editor", hint)
    labels = split_labels(desk, run)
    text = edited(candidates.draft(labels, panel), ".yaml")
    if text is None:
        raise Cancelled(candidates.NOTHING_SAVED)
    _put_candidate(candidates.written(labels, panel, text))


def _put_candidate(found: WrittenCandidate) -> None:
    if wants_json():
        paths = {"candidate": str(found.path), "parent": str(found.parent)}
        put_json({**paths, "asks": found.asks, "diff": found.diff})
    else:
        put(document_text(views.candidate(found)))
        put(f"next: reviewdesk improve try {found.path}")


@improve.command(name="try", epilog="Example: reviewdesk improve try panel+edit.yaml --max-cost 2")
@_CANDIDATE
@limit_options
@flag("--yes", "Send without asking.")
@of_run
@options("json")
def try_(desk: Desk, run: Run, *, candidate: Path, **given: Any) -> None:
    """Try a candidate on the holdout: better, not shown or worse.

    Both panels are asked again about the same items, unless the stored ballots are enough. The
    answer is one word; each further try on a holdout needs more to be shown. The same command
    continues a try that was cut off, and pays for no answer twice.
    """
    import asyncio

    from reviewdesk.desk import improve as candidates
    from reviewdesk.domain.panel.asking import Listener

    current_settings()  # they may name the keys
    ready = candidates.prepare(desk, run, candidate, **given)
    yes = ready.limits.yes
    if ready.plan is not None and not yes:
        check_terminal()
    say_section(views.before_try(len(ready.rows), ready.k, ready.gain, asks=ready.begun.asks))
    if ready.plan is not None:
        section = consent(ready.plan, "both panels", ceiling=ready.limits.max_cost)
        require_consent(section, yes=yes)
    with ProgressLine("questions") as line:
        asking = candidates.carry_out(desk, ready, Listener(told=line.live, noted=line.note))
        try:
            word, turnouts = asyncio.run(asking)
        except KeyboardInterrupt:
            hint = "Give the same command again."
            raise Cancelled("stopped: the answers are kept", hint) from None
    if turnouts.failed:
        say(f"ballots lost: {plain(fault_counts(turnouts.why))}")
    if word is None:
        say("too many ballots are missing to decide; the same command asks for them again")
        leave(ExitCode.FAILED)
    elif wants_json():
        facts = {"items": len(ready.rows), "smallest_gain": ready.gain}
        put_json({"verdict": word.value, "tries": ready.k + 1, **facts})
    else:
        put(views.RESULTS[word])


@improve.command(epilog="Example: reviewdesk improve adopt panel+edit.yaml")
@_CANDIDATE
@flag("--anyway", "Adopt it even if its try was not better.")
@of_run
@options("json")
def adopt(desk: Desk, run: Run, *, candidate: Path, anyway: bool) -> None:
    """Replace a panel by its candidate.

    Shows what its try found, and spends the holdout: its items join the tuning half. The parent's
    file is kept beside it.
    """
    from reviewdesk.desk import improve as candidates
    from reviewdesk.views.json.figures import adopted

    panel, kept, made = candidates.adopt(desk, run, candidate, anyway=anyway)
    shape = adopted(made, panel=str(panel), kept=str(kept))
    put_result(shape, Document((views.adoption(made),)))
    say(f"{panel} is the new panel, and its parent is {kept}; new labels form the next holdout")
