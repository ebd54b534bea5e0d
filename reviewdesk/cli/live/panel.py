"""Make a panel file, and check one before anybody is asked."""

from pathlib import Path

import click

from reviewdesk.cli.common import (
    current_settings,
    file_argument,
    flag,
    leave,
    option,
    options,
    put,
    put_json,
    put_result,
    say,
)
from reviewdesk.cli.live.options import check_terminal, require_consent
from reviewdesk.cli.plain import document_text
from reviewdesk.errors import ExitCode, UsageError


@click.group()
def panel() -> None:
    """Create and check panels of LLM jurors."""


@panel.command(epilog="Example: reviewdesk panel check panel.yaml")
@file_argument("path", metavar="PANEL")
@option("--generator", "MODEL", "Model whose responses are judged.")
@options("json")
def check(*, path: str, generator: str | None, as_json: bool) -> None:
    """Check a panel file.

    Shows jurors, families, weights, what the panel tolerates, cost and keys. Sends nothing.
    """
    from reviewdesk.desk.live.panel_new import check_panel
    from reviewdesk.domain.verdict import Generator
    from reviewdesk.views.json import figures as shapes
    from reviewdesk.views.panel import panel as composition

    current_settings()  # they may name the keys
    found = check_panel(path, generator=Generator(generator) if generator else None)
    document = composition(found.panel, found.missing, found.malformed)
    put_result(shapes.check(found), document, as_json=as_json)


_EPILOG = """\b
Examples:
  reviewdesk panel new panel.yaml
  reviewdesk panel new panel.yaml --from report.jsonl --probe
  reviewdesk panel new p.yaml --juror claude-haiku-5-5 --juror ollama/qwen3:8b"""


@panel.command(epilog=_EPILOG)
@file_argument("path", metavar="FILE")
@option("--from report", "FILE", "Report whose jurors and rule to take.")
@option("--juror jurors", "VENDOR/MODEL", "Model to add; repeatable.", multiple=True)
@option("--rubric", "TEXT", "Rubric for cases without one.")
@flag("--probe", "Try each juror with one call.")
@flag("--yes", "Send without asking.")
@flag("--force", "Replace FILE.")
@options("json")
def new(
    *, path: str, report: str | None, jurors: tuple[str, ...], rubric: str | None, probe: bool,
    yes: bool, force: bool, as_json: bool,
) -> None:  # fmt: skip
    """Write a panel file.

    Without --from and --juror, takes a current model of each vendor whose key is set. Shows what a
    case costs. Only --probe sends anything; it exits 1 if a juror gives no answer.
    """
    from reviewdesk.desk.live import panel_new
    from reviewdesk.views.json import figures as shapes
    from reviewdesk.views.panel import panel as composition

    if report and jurors:
        raise UsageError("--from and --juror choose different jurors", "Give one of them.")
    if probe and not yes:
        check_terminal()
    current_settings()  # they may name the keys and the prices
    if report:
        draft = panel_new.from_report(report, rubric=rubric)
    elif jurors:
        draft = panel_new.from_models(jurors, rubric=rubric)
    else:
        draft = panel_new.from_environment(rubric=rubric)
    panel_new.write_panel(draft, Path(path), force=force)
    found = panel_new.check_panel(path)
    if as_json:
        put_json({**shapes.check(found), "notes": list(draft.notes)})
    else:
        put(document_text(composition(found.panel, found.missing, found.malformed)))
        for note in draft.notes:
            put(f"note      {note}")
        put(f"written   {path}")
    if probe:
        _probe(path, yes=yes)


def _probe(path: str, *, yes: bool) -> None:
    import asyncio

    from reviewdesk.cli.live.rerun import plain_ballot
    from reviewdesk.desk.live import panel_new
    from reviewdesk.desk.live.rerun import panel_from
    from reviewdesk.views.panel import consent

    spec = panel_from(path)
    require_consent(consent(panel_new.probe_plan(spec)), yes=yes)
    ballots = asyncio.run(panel_new.probe(spec))
    for ballot in ballots:
        cost = ballot.get("cost_usd")
        seconds = (ballot.get("latency_ms") or 0) / 1000
        price = "" if cost is None else f" · ${cost:.2g}"
        say(f"{plain_ballot(ballot)} · {seconds:.1f} s{price}")
    if not all(ballot.get("status") in {"ok", "abstained"} for ballot in ballots):
        leave(ExitCode.FAILED)
