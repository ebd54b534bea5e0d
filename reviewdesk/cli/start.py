"""What a newcomer runs first: no command, the demo, completion, the meaning of a word."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from reviewdesk.cli.common import open_desk, options, put, put_json, say
from reviewdesk.cli.invocation import current_settings, desk_path
from reviewdesk.cli.review import is_on_screen, review_run

if TYPE_CHECKING:
    from reviewdesk.desk import Desk

_SUFFIXES = {".json", ".jsonl", ".eval"}
_MOST_FILES = 40
"""The most files of a folder that are looked into, the newest first."""
_MOST_NAMED = 3
_MOST_BYTES = 64 << 20
"""The size up to which a file is looked into: this must not keep anybody waiting."""

_SETUP = """\b
bash, in ~/.bashrc:  eval "$(reviewdesk completion bash)"
zsh, in ~/.zshrc, after compinit:  eval "$(reviewdesk completion zsh)"
fish, in ~/.config/fish/config.fish:  reviewdesk completion fish | source
"""


@click.command(epilog="Example: reviewdesk demo")
@options()
def demo() -> None:
    """Review invented sample runs, on a desk of their own."""
    from reviewdesk.desk import samples
    from reviewdesk.desk.core import default_path

    is_on_screen()
    named = click.get_current_context().meta.get("reviewdesk.desk")
    with open_desk(Path(named) if named else default_path().with_name("demo.db")) as desk:
        run = samples.prepare(desk)
        review_run(desk, run)
        say(f"the demo's desk is {desk.path}; your own desk is untouched")


def put_next_steps() -> None:
    """Print what the program is and what to do next."""
    steps = list(_next_steps())
    wide = max(len(command) for command, _ in steps)
    put("reviewdesk reviews what juries of LLM judges decided, and measures how far to trust them.")
    put()
    for command, what in steps:
        put(f"  {command:<{wide}}  {what}")
    put()
    put("reviewdesk --help lists every command.")


def _next_steps() -> Iterator[tuple[str, str]]:
    """Yield commands and what they do here: verdicts wait, a report lies in the folder, or none."""
    from reviewdesk.desk.core import glance

    found = False
    desk = glance(desk_path(), current_settings().reviewer or None)
    if desk is not None:
        try:
            for step in _of_desk(desk):
                found = True
                yield step
        finally:
            desk.close()
    for name in _reports(Path()):
        found = True
        yield f"reviewdesk open {shlex.quote(name)}", "reviews a report in this folder"
    if not found:
        yield "reviewdesk open report.json", "reviews a report of yours"
        yield "reviewdesk demo", "reviews a sample, on a desk of its own"


def _of_desk(desk: Desk) -> Iterator[tuple[str, str]]:
    if not desk.runs():
        return
    run = desk.run()
    progress = desk.progress(run)
    if progress.labelled < progress.verdicts:
        done = f"{progress.labelled:,} of {progress.verdicts:,} labelled"
        yield "reviewdesk open", f"continues {run.name}: {done}"
    if progress.labelled:
        yield "reviewdesk calibrate", f"shows how far the judge of {run.name} can be trusted"


def _reports(folder: Path) -> Iterator[str]:
    """Yield the names of the newest reports in a folder; files that are no report are passed by."""
    from reviewdesk.desk import files

    try:
        held = [path for path in folder.iterdir() if path.suffix in _SUFFIXES and path.is_file()]
        held.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    except OSError:
        return
    reports = (path.name for path in held[:_MOST_FILES] if files.is_report(path, _MOST_BYTES))
    yield from islice(reports, _MOST_NAMED)


@click.command("completion", epilog=_SETUP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@options()
def completion(*, shell: str) -> None:
    """Print the shell's completion script.

    It completes options, runs, verdict ids, formats and, in single quotes, filters.
    """
    from reviewdesk.cli.completion import answer

    answer(click.get_current_context().find_root().command, f"{shell}_source")


def _words(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the words that have no space."""
    from reviewdesk.views.glossary import TERMS

    start = incomplete.casefold()
    words = [term.word for term in TERMS if term.word.isalnum()]
    return [CompletionItem(word) for word in words if word.casefold().startswith(start)]


@click.command(epilog="Example: reviewdesk explain corrected rate")
@click.argument("words", nargs=-1, metavar="[WORD]...", shell_complete=_words)
@options("json")
def explain(*, words: tuple[str, ...], as_json: bool) -> None:
    """Explain a word or sign of the screens.

    Without WORD, all are listed.
    """
    from reviewdesk.cli.plain import section_text
    from reviewdesk.views import glossary

    terms = [glossary.find(" ".join(words))] if words else glossary.TERMS
    if as_json:
        put_json([{"word": one.word, "group": one.group, "meaning": one.text} for one in terms])
    elif words:
        put(f"{terms[0].word}: {terms[0].text}")
    else:
        put("\n\n".join(map(section_text, glossary.sections())))
