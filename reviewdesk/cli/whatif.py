"""Print what other rules would have decided, over a run or on one verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reviewdesk.cli import completion
from reviewdesk.cli.common import chosen_run, open_desk, options, put_document, put_json, run_option
from reviewdesk.desk.options import STRATEGIES
from reviewdesk.desk.review.runs import named_verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reviewdesk.domain.whatif.policies import Variant

_EPILOG = """\b
Examples:
  reviewdesk whatif
  reviewdesk whatif --strategy median --strategy mean --threshold 0.6
  reviewdesk whatif --trim 0.1 --trim 0.3 --rounding nearest
  reviewdesk whatif --drop judge-a --json
  reviewdesk whatif support/017"""


@click.command(epilog=_EPILOG)
@click.argument("verdict", required=False, shell_complete=completion.verdicts)
@run_option
@click.option(
    "--strategy", "strategy", multiple=True, type=click.Choice(STRATEGIES), metavar="NAME",
    help=f"Rule to try: {', '.join(STRATEGIES)}.",
)  # fmt: skip
@click.option("--trim", "trim", multiple=True, metavar="F", help="Trim at each end, 0 to 0.49.")
@click.option(
    "--rounding",
    "rounding",
    multiple=True,
    type=click.Choice(["down", "nearest", "up"]),
    help="How to round a trim to whole jurors.",
)
@click.option("--quorum", "quorum", multiple=True, metavar="Q", help="Quorum, e.g. 0.67 or 2/3.")
@click.option(
    "--supermajority", "supermajority", multiple=True, metavar="S", help="Supermajority, e.g. 2/3."
)
@click.option("--threshold", "threshold", multiple=True, metavar="T", help="Pass threshold.")
@click.option(
    "--drop",
    "drop",
    multiple=True,
    metavar="JUROR",
    shell_complete=completion.jurors,
    help="Juror to leave out.",
)
@options("json")
def whatif(
    *, verdict: str | None, run_name: str | None, as_json: bool, **given: tuple[str, ...]
) -> None:
    """Show what other rules would have decided.

    They are applied to the stored ballots. Without options: every rule, trims, quorums, thresholds,
    and each juror left out. Options may be repeated and are combined, under the run's own rule if
    no --strategy is given.

    For one VERDICT also shows the outlier rules (sigma, tukey, winsorised), and how far bought
    jurors could move each rule. A changed threshold also changes how jurors' scores vote.
    """
    from reviewdesk.desk.figures.whatif import variants_of

    variants = variants_of(**given)
    if verdict is None:
        _of_run(run_name, variants, as_json=as_json)
    else:
        _of_item(verdict, run_name, variants, as_json=as_json)


def _of_run(name: str | None, variants: Sequence[Variant] | None, *, as_json: bool) -> None:
    from reviewdesk.desk.figures.whatif import what_if
    from reviewdesk.views import whatif
    from reviewdesk.views.json import figures

    with open_desk() as desk:
        found = what_if(desk, chosen_run(desk, name), variants)
    if as_json:
        put_json(figures.what_if(found, every=variants is None))
        return
    put_document(whatif.what_if(found))


def _of_item(
    verdict: str, run_name: str | None, variants: Sequence[Variant] | None, *, as_json: bool
) -> None:
    from reviewdesk.desk.figures.whatif import what_if_item
    from reviewdesk.domain.whatif.table import attacks
    from reviewdesk.views.json import figures
    from reviewdesk.views.whatif import policies

    with open_desk() as desk:
        _, key = named_verdict(desk, verdict, run_name)
        item = desk.item(key)
    found = what_if_item(item, variants)
    if as_json:
        put_json(figures.what_if_item(item, found, every=variants is None))
        return
    rules = found if variants is None else ()
    bought = [(row.variant, attacks(item.verdict, row.variant)) for row in rules]
    put_document(policies(item, found, bought))
