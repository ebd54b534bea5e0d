"""The pages that people read, taken apart: links, headings, code in lines and in blocks."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click
from markdown_it import MarkdownIt
from markdown_it.token import Token

from reviewdesk.cli import cli
from tests.helpers import ROOT, SAMPLES, environment

DOCS = ROOT / "docs"
README = ROOT / "README.md"
GUIDES = (README, *sorted(DOCS.rglob("*.md")))
"""The pages whose blocks are run."""
PAGES = (*GUIDES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", SAMPLES / "README.md")

_READER = MarkdownIt("commonmark").enable("table")
_MARK = re.compile(r"<!-- (not run|ends with|file): (.+?) -->|<!-- (ends with) (\d) -->")


def page_name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page. The comment before its fence says what to do with it.

    ``not run: WHY`` leaves it to a check of its syntax, ``ends with N`` is the exit code that it
    must have, and ``file: NAME`` saves it for the blocks that follow.
    """

    language: str
    text: str
    line: int
    unrun: str = ""
    code: int = 0
    file: str = ""


@dataclass(frozen=True, slots=True)
class Finished:
    """A block that was run: how it ended, and what it printed."""

    block: Block
    code: int
    stdout: str


@cache
def tokens(page: Path) -> tuple[Token, ...]:
    return tuple(_READER.parse(page.read_text(encoding="utf-8")))


def inline(page: Path) -> Iterator[Token]:
    """Yield every piece of a line: texts, code, links, pictures."""
    for token in tokens(page):
        yield from token.children or ()


def codes(page: Path) -> list[str]:
    """Return the code within lines; a bar is written with a backslash inside tables."""
    return [t.content.replace("\\|", "|") for t in inline(page) if t.type == "code_inline"]


def links(page: Path) -> list[str]:
    """Return the targets of all links and pictures."""
    found = (t.attrGet("href") or t.attrGet("src") for t in inline(page))
    return [str(target) for target in found if target]


def anchors(page: Path) -> set[str]:
    """Return the names that a browser on GitHub gives the headings of a page."""
    found: list[str] = []
    for before, token in zip(tokens(page), tokens(page)[1:], strict=False):
        if before.type == "heading_open":
            text = "".join(child.content for child in token.children or ()).lower()
            name = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            again = sum(bool(re.fullmatch(rf"{re.escape(name)}(-\d+)?", one)) for one in found)
            found.append(f"{name}-{again}" if again else name)
    return set(found)


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, each with its mark."""
    found = []
    for before, token in zip((None, *tokens(page)), tokens(page), strict=False):
        if token.type != "fence":
            continue
        mark = _MARK.search(before.content) if before and before.type == "html_block" else None
        kind, value = ("", "") if mark is None else tuple(filter(None, mark.groups()))
        found.append(
            Block(
                token.info,
                token.content,
                token.map[0] + 2 if token.map else 0,
                unrun=value if kind == "not run" else "",
                code=int(value) if kind == "ends with" else 0,
                file=value if kind == "file" else "",
            )
        )
    return found


def assert_known(line: str) -> None:
    """Fail unless a command line names a command of the program and options that it has."""
    command: click.Command = cli
    known = {"--version"}
    for word in shlex.split(line.replace("...", ""))[1:]:
        name = word.strip("[],")
        found = None
        if isinstance(command, click.Group):
            found = command.get_command(click.Context(command), name)
        if found is not None:
            command = found
        elif isinstance(command, click.Group) and not command.invoke_without_command:
            assert name.startswith("-") or name == "COMMAND", f"{line}: no command {name}"
        if name.startswith("-") and name != "-":
            for one in command.params:
                known |= {*one.opts, *one.secondary_opts}
            assert name in known | {"-h", "--help"}, f"{line}: no option {name}"


def clone(folder: Path) -> dict[str, str]:
    """Make a folder look like a clone in which the program is installed.

    Return the variables for what is run there; nothing of the user's is read or written.
    """
    shutil.copytree(SAMPLES, folder / "sample_runs")
    program = folder / ".venv" / "bin" / "reviewdesk"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m reviewdesk "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    home = str(folder / "home")
    return {**environment(folder / "desk.db"), "HOME": home, "XDG_DATA_HOME": home}


def run_page(page: Path, folder: Path) -> tuple[list[Finished], str]:
    """Run the shell's blocks of a page one after the other, as if they were pasted into one shell.

    Also return what stderr got.
    """
    env = clone(folder)
    ran = []
    for block in blocks(page):
        if block.file:
            (folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "sh" and not block.unrun:
            ran.append(block)
    if page != README:  # which says itself how the program comes to be found
        env["PATH"] = f"{folder}/.venv/bin:{env['PATH']}"
    # A block that ends its shell is a job of its own.
    texts = (f"(\n{b.text})" if "\nexit" in b.text else b.text for b in ran)
    script = folder / "page.sh"
    script.write_text("".join(f'{text}\necho "== $?"\n' for text in texts), encoding="utf-8")
    done = subprocess.run(
        ["sh", script], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        cwd=folder, env=env,
    )  # fmt: skip
    parts = re.split(r"== (\d+)\n", done.stdout)
    ends = [int(code) for code in parts[1::2]]
    return [Finished(*one) for one in zip(ran, ends, parts[::2], strict=False)], done.stderr
