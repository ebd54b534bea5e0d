"""Asking the jurors of a verdict again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reviewdesk.cli import completion
from reviewdesk.cli.common import (
    dump,
    json_option,
    named_verdict,
    open_desk,
    put,
    put_json,
    run_option,
    say,
    shared_options,
)
from reviewdesk.cli.plain_turnout import turnout_lines
from reviewdesk.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reviewdesk.desk import Desk
    from reviewdesk.desk.rerunning import Prepared
    from reviewdesk.domain.rerun import Wish

_EPILOG = """\b
Examples:
  reviewdesk rerun support/017 --panel sample_runs/panel-local.toml
  reviewdesk rerun support/017 --missing --yes
  reviewdesk rerun support/017 --juror judge-a --dry-run"""


@click.command(epilog=_EPILOG)
@click.argument(
    "verdicts", nargs=-1, required=True, metavar="VERDICT...", shell_complete=completion.verdicts
)
@click.option(
    "--panel",
    metavar="FILE",
    shell_complete=completion.files,
    help="Panel to ask; else the one the report names.",
)
@click.option(
    "--juror",
    "jurors",
    multiple=True,
    metavar="NAME",
    shell_complete=completion.jurors,
    help="Ask this juror alone.",
)
@click.option("--missing", is_flag=True, help="Ask only the jurors that gave no answer.")
@click.option("--masked", is_flag=True, help="Mask passages that speak to the judge.")
@click.option("--yes", is_flag=True, help="Send without asking.")
@click.option("--dry-run", is_flag=True, help="Print what would be sent, and send nothing.")
@run_option
@json_option
@shared_options
def rerun(
    *, verdicts: tuple[str, ...], panel: str | None, jurors: tuple[str, ...], missing: bool,
    masked: bool, yes: bool, dry_run: bool, run_name: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Ask a panel again about VERDICT; the new verdict stands beside the old one.

    Labels stay as they are. Nothing is sent without --yes or your `y`.
    """
    from reviewdesk.cli.consent import can_ask
    from reviewdesk.desk.rerunning import payloads

    if not (yes or dry_run or can_ask()):
        raise UsageError(
            "nothing is sent without consent, and there is no terminal to ask on", "Give --yes."
        )
    wish = _wish(jurors, missing=missing, masked=masked)
    with open_desk() as desk:
        prepared = [_prepared(desk, name, run_name, panel, wish) for name in verdicts]
        if dry_run:
            for one in payloads(prepared):
                click.echo(dump(one))
            return
        if not _agreed(prepared, yes=yes):
            say("nothing was sent")
            click.get_current_context().exit(ExitCode.INTERRUPTED)
        _report(desk, prepared, as_json=as_json)


def _agreed(prepared: list[Prepared], *, yes: bool) -> bool:
    """Say what is about to be sent, and ask unless that was done."""
    from reviewdesk.cli import plain_rerun
    from reviewdesk.cli.consent import agreed
    from reviewdesk.desk.rerunning import plan_of
    from reviewdesk.domain.rerun import contract_note

    for text in plain_rerun.plan(plan_of(prepared)):
        say(text)
    before = {one.contract_before for one in prepared if one.contract_before is not None}
    for version in sorted(before):
        say(contract_note(version))
    return yes or agreed("send?")


def _wish(jurors: tuple[str, ...], *, missing: bool, masked: bool) -> Wish:
    from reviewdesk.domain.rerun import Scope, Wish

    if jurors and missing:
        raise UsageError("--juror and --missing ask different jurors", "Give one of them.")
    if len(set(jurors)) > 1:
        raise UsageError(
            "--juror asks one juror, and more than one is named", "Ask them one after the other."
        )
    if jurors:
        return Wish(Scope.JUROR, jurors[0], masked=masked)
    return Wish(Scope.MISSING if missing else Scope.PANEL, masked=masked)


def _prepared(
    desk: Desk, name: str, run_name: str | None, panel: str | None, wish: Wish
) -> Prepared:
    from reviewdesk.desk import rerunning

    _, key = named_verdict(desk, name, run_name)
    asked = rerunning.panel_from(panel) if panel else rerunning.own_panel(desk.item(key), wish)
    return rerunning.prepare(desk, key, asked, wish)


def _report(desk: Desk, prepared: list[Prepared], *, as_json: bool) -> None:
    """Carry them out one after another, and print what came of each."""
    from reviewdesk.cli import plain_rerun
    from reviewdesk.desk import rerunshapes
    from reviewdesk.desk.rerunning import ask_now
    from reviewdesk.domain.turnout import Turnouts

    turnouts = Turnouts()

    def arrived(ballot: Mapping[str, Any]) -> bool:
        turnouts.add([ballot])
        return _arrived(ballot)

    found = ask_now(desk, prepared, arrived)
    shapes = [rerunshapes.rerun(one.item, told) for one, told in zip(prepared, found, strict=True)]
    if as_json:
        put_json(shapes)
    else:
        for shape in shapes:
            put(plain_rerun.rerun(shape))
    for text in turnout_lines(turnouts):
        say(text)
    if turnouts.failed == turnouts.ballots:
        click.get_current_context().exit(ExitCode.FAILED)


def _arrived(ballot: Mapping[str, Any]) -> bool:
    say(plain_ballot(ballot))
    return True


def plain_ballot(ballot: Mapping[str, Any]) -> str:
    """A ballot on one line, as it arrives."""
    if error := ballot.get("error"):
        return f"{ballot['id']}: {ballot.get('status')}: {error['message']}"
    if ballot.get("status") == "abstained":
        return f"{ballot['id']}: abstained"
    vote = {True: "pass", False: "fail", None: "no vote"}[ballot.get("pass")]
    score = ballot.get("score")
    return f"{ballot['id']}: {vote}" + ("" if score is None else f" {score:.3f}")
