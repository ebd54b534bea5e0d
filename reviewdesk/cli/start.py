"""What a newcomer runs first: no command, the demo, init, completion, the meaning of a word."""

import shlex
from itertools import islice
from pathlib import Path
from shutil import get_terminal_size

import click
from click.shell_completion import CompletionItem

from reviewdesk.cli.common import (
    answer,
    choice,
    file_argument,
    flag,
    open_desk,
    options,
    own_desk,
    put,
    put_json,
    say,
    wants_json,
)
from reviewdesk.cli.plain import section_text
from reviewdesk.cli.review import is_on_screen, review_run
from reviewdesk.cli.terminal import can_ask
from reviewdesk.desk import setup
from reviewdesk.desk.core import default_path
from reviewdesk.errors import UsageError
from reviewdesk.views import glossary

_MOST_NAMED = 3
_MOST_OFFERED = 9
"""The most reports that are named as next steps, and that `init` offers."""

_CI = ("github", "none")
_SETUP = """\b
bash, in ~/.bashrc:  eval "$(reviewdesk completion bash)"
zsh, in ~/.zshrc, after compinit:  eval "$(reviewdesk completion zsh)"
fish, in ~/.config/fish/config.fish:  reviewdesk completion fish | source
"""


@click.command(epilog="Example: reviewdesk demo")
@options()
def demo() -> None:
    """Review invented sample runs, on a desk of their own."""
    is_on_screen()
    named = click.get_current_context().meta.get("reviewdesk.desk")
    path = Path(named) if named else default_path().with_name("demo.db")
    with open_desk(path, new=True) as desk:
        review_run(desk, setup.load_samples(desk), {})
        say(f"the demo's desk is {desk.path}; your own desk is untouched")


def put_next_steps() -> None:
    """Print what the program is and what to do next: by the desk, or by the reports here."""
    steps: list[tuple[str, str]] = []
    with own_desk() as desk:
        if desk is not None and desk.runs():
            run = desk.run()
            progress = desk.progress(run)
            if progress.labelled < progress.verdicts:
                done = f"{progress.labelled:,} of {progress.verdicts:,} labelled"
                steps.append(("reviewdesk open", f"continues {run.name}: {done}"))
            if progress.labelled:
                what = f"shows how far the judge of {run.name} can be trusted"
                steps.append(("reviewdesk calibrate", what))
    steps += [
        (f"reviewdesk open {shlex.quote(name)}", "reviews a report in this folder")
        for name in islice(setup.reports(Path()), _MOST_NAMED)
    ]
    tables = islice(setup.reports(Path(), unclear=True), 0 if steps else _MOST_NAMED)
    steps += [
        (f"reviewdesk open {shlex.quote(name)}", "asks what this table contains") for name in tables
    ]
    steps = steps or [
        ("reviewdesk open report.json", "reviews a report of yours"),
        ("reviewdesk demo", "reviews a sample, on a desk of its own"),
    ]
    wide = max(len(command) for command, _ in steps)
    text = (
        "reviewdesk reviews what juries of LLM judges decided, and measures how far to trust them."
    )
    put(click.wrap_text(text, get_terminal_size().columns))
    put()
    for command, what in steps:
        put(f"  {command:<{wide}}  {what}")
    put()
    put("reviewdesk --help lists every command.")


@click.command(epilog="Example: reviewdesk init report.jsonl --yes")
@file_argument("report", required=False)
@click.option(
    "--floor",
    type=click.FloatRange(0, 1, min_open=True),
    help="Least agreement of the jurors that passes, with fewer than 30 labels.",
)
@choice("--ci", _CI, "CI service to write a workflow for.")
@flag("--yes", "Ask nothing: take the newest report and the defaults.")
@options()
def init(*, report: str | None, floor: float | None, ci: str | None, yes: bool) -> None:
    """Write a panel, gates and a CI workflow for a report.

    Finds the reports and tables in this folder, asks at most three questions, and writes panel.yml,
    judge/suite.yml and .github/workflows/reviewdesk.yml. If one of them exists, writes nothing.
    With 30 labels, the gates are those of `labels export --format suite`, with limits that hold
    today; with fewer, one on how far the jurors agree.
    """
    here = Path()
    setup.check_free(here)
    asking = not yes and None in {report, floor, ci}
    if asking and not can_ask():
        raise UsageError(
            "there is no terminal to ask on", "Give --yes, or REPORT, --floor and --ci."
        )
    names = [report] if report else list(islice(setup.reports(here), _MOST_OFFERED))
    if not names and (table := next(setup.reports(here, unclear=True), "")):
        hint = f"Say what they contain: reviewdesk open {shlex.quote(table)}"
        raise UsageError(f"{table}: its columns are not understood yet", hint)
    report = report or _chosen_report(names, asking=asking)
    with own_desk() as desk:
        found = setup.survey(report, desk)
    if floor is None and asking and found.labels is None:
        say("fewer than 30 labels count, so the gate checks how far jurors agree")
        share = click.FloatRange(0, 1, min_open=True)
        what = "How far must the jurors of each verdict agree, at least? (0 to 1)"
        floor = click.prompt(what, default=found.floor, type=share, err=True)
    if ci is None:
        kinds = click.Choice(_CI)
        ci = click.prompt("Which CI?", default=_CI[0], type=kinds, err=True) if asking else _CI[0]
    for name in setup.write_setup(found, here, floor or found.floor, workflow=ci == "github"):
        put(f"written  {name}")
    if found.missing:
        say(f"no {setup.PANEL}: {found.missing}")
    beside = Path(f"{report}.map.toml")
    files = f"{report} and {beside}" if beside.is_file() else report
    say(f"next: reviewdesk gate {setup.SUITE}, and commit what is written with {files}")


def _chosen_report(names: list[str], *, asking: bool) -> str:
    """Return the newest report, or the one that a person chooses."""
    if not names:
        raise UsageError("there is no report or table here", "Name one: reviewdesk init REPORT.")
    if not asking or len(names) == 1:
        say(f"report: {names[0]}")
        return names[0]
    for place, name in enumerate(names, start=1):
        say(f"  {place}  {name}")
    return names[
        click.prompt("Which report?", default=1, type=click.IntRange(1, len(names)), err=True) - 1
    ]


@click.command("completion", hidden=True, epilog=_SETUP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@options()
def completion(*, shell: str) -> None:
    """Print the shell's completion script.

    It completes commands, options, files, formats, runs and verdict ids.
    """
    answer(click.get_current_context().find_root().command, f"{shell}_source")


def _words(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the next word of each entry that begins with the words before it."""
    from reviewdesk.domain.stats.methods import FIGURES

    typed = [word.casefold() for word in ctx.params.get("words") or ()]
    start = incomplete.casefold()
    names = (*(term.word for term in glossary.TERMS), *(one.figure for one in FIGURES))
    entries = [name.split() for name in names if name.replace(" ", "").isalnum()]
    found = {
        entry[len(typed)]: None
        for entry in entries
        if len(entry) > len(typed) and [word.casefold() for word in entry[: len(typed)]] == typed
    }
    return [CompletionItem(word) for word in found if word.casefold().startswith(start)]


@click.command(epilog="Example: reviewdesk explain corrected rate")
@click.argument("words", nargs=-1, metavar="[WORD]...", shell_complete=_words)
@options("json")
def explain(*, words: tuple[str, ...]) -> None:
    """Explain a word of the screens, or how a figure is made.

    Without WORD, all are listed.
    """
    terms = [glossary.find(" ".join(words))] if words else glossary.TERMS
    if wants_json():
        put_json([glossary.shape(one) for one in terms])
    elif words:
        put(f"{terms[0].word}: {terms[0].text}")
        if (method := glossary.method_of(terms[0].word)) is not None:
            put(section_text(glossary.method_section(method)))
    else:
        put("\n\n".join(map(section_text, glossary.sections())))
