"""Figures from labels: of a desk's run, or of a labels file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reviewdesk.cli.common import (
    chosen_run,
    json_option,
    open_desk,
    put,
    put_json,
    run_option,
    say,
    shared_options,
)
from reviewdesk.errors import UsageError

if TYPE_CHECKING:
    from reviewdesk.domain.records import Calibration


@click.command(epilog="Example: reviewdesk calibrate sample_runs/labels-example.jsonl")
@click.argument("labels", required=False)
@click.option(
    "--confidence",
    type=click.Choice(["support", "score", "reported", "vote_share"]),
    help="Where a run's confidence is read from.",
)
@click.option("--jurors", is_flag=True, help="Each juror against the labels.")
@run_option
@json_option
@shared_options
def calibrate(
    *,
    labels: str | None,
    confidence: str | None,
    jurors: bool,
    run_name: str | None,
    as_json: bool,
) -> None:
    """Show how far the judge's confidence can be trusted, by LABELS or by the desk's labels."""
    if labels is not None:
        if jurors:
            raise UsageError(
                "--jurors: a labels file holds no votes", "Leave out the file, or --jurors."
            )
        _of_file(labels, as_json=as_json)
    else:
        _of_run(run_name, confidence, jurors=jurors, as_json=as_json)


def _of_file(labels: str, *, as_json: bool) -> None:
    from reviewdesk.cli import plain
    from reviewdesk.cli.review import source_of
    from reviewdesk.desk import shapes
    from reviewdesk.desk.labelled import calibrate_file
    from reviewdesk.domain.gates import default_checks

    found = calibrate_file(source_of(labels))
    gates = default_checks(found.headline)
    if as_json:
        put_json(shapes.calibration(found, gates))
        return
    put(plain.calibration(found, gates))
    _warn(found)


def _of_run(run_name: str | None, confidence: str | None, *, jurors: bool, as_json: bool) -> None:
    from reviewdesk.cli import plain
    from reviewdesk.desk import shapes
    from reviewdesk.desk.judge import calibration_page

    with open_desk() as desk:
        page = calibration_page(desk, chosen_run(desk, run_name), confidence, jurors=jurors)
    if as_json:
        put_json(shapes.judged(page))
        return
    put(plain.judged(page))
    _warn(page.calibration)


def _warn(found: Calibration) -> None:
    for warning in found.warnings:
        say(f"warning: {warning}")
