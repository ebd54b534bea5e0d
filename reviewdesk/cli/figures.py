"""Figures from labels: of a desk's run, or of a labels file."""

from __future__ import annotations

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


@click.command(epilog="Example: reviewdesk calibrate sample_runs/labels-example.jsonl")
@click.argument("labels", required=False)
@click.option(
    "--confidence",
    type=click.Choice(["support", "score", "reported", "vote_share"]),
    help="Where a run's confidence is read from.",
)
@run_option
@json_option
@shared_options
def calibrate(
    *, labels: str | None, confidence: str | None, run_name: str | None, as_json: bool
) -> None:
    """Show how far the judge's confidence can be trusted, by LABELS or by the desk's labels."""
    from reviewdesk.cli import plain, shapes

    if labels is not None:
        from reviewdesk.cli.review import source_of
        from reviewdesk.desk.labelled import calibrate_file

        found = calibrate_file(source_of(labels))
    else:
        with open_desk() as desk:
            found = desk.calibration(chosen_run(desk, run_name), confidence)
    if as_json:
        put_json(shapes.calibration(found))
        return
    put(plain.calibration(found))
    for warning in found.warnings:
        say(f"warning: {warning}")
