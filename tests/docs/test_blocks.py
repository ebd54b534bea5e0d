"""Every block of code in README and docs is run, or says why not and is checked for its syntax."""

import ast
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from benchmarks.reference import commands
from reviewdesk.app.keys.actions import ACTIONS, Keymap
from reviewdesk.app.keys.commands import parse_command
from tests.docs.pages import (
    DOCS,
    GUIDES,
    README,
    Block,
    assert_known,
    blocks,
    clone,
    codes,
    page_name,
    run_page,
)
from tests.helpers import ROOT

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="the pages are written for a POSIX shell"
)

ELSEWHERE = DOCS / "how-to" / "gates-in-ci.md"
"""Its blocks are run in ``test_whole_pages``, which reads what they print."""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page_name(page), marks=pytest.mark.slow)
        for page in GUIDES
        if "\n```sh\n" in page.read_text(encoding="utf-8") and page != ELSEWHERE
    ],
)
def test_the_blocks_of_a_page_run_one_after_the_other(page: Path, tmp_path: Path) -> None:
    finished, stderr = run_page(page, tmp_path)
    wanted = [(b.line, b.code) for b in blocks(page) if b.language == "sh" and not b.unrun]
    assert [(one.block.line, one.code) for one in finished] == wanted, stderr
    silent = ("export PATH", " -o ", " > ")
    assert all(one.stdout or any(word in one.block.text for word in silent) for one in finished)


def test_the_first_command_of_the_readme_opens_a_sample(tmp_path: Path) -> None:
    first = next(b for b in blocks(README) if b.unrun == "installs what it needs")
    install, _, opened = first.text.strip().rpartition(" && ")
    assert install == "python3 -m venv .venv && .venv/bin/pip install -q ."
    env = clone(tmp_path)
    done = subprocess.run(
        shlex.split(opened), capture_output=True, text=True, check=True, cwd=tmp_path, env=env
    )
    assert len(done.stdout.splitlines()) >= 30


def test_the_readme_is_short_and_holds_the_command_that_runs_the_tests() -> None:
    found = [b for b in blocks(README) if b.language == "sh" and b.text.rstrip().endswith("pytest")]
    assert len(found) == 1
    assert found[0].text.strip().count("\n") == 0
    assert len(README.read_text(encoding="utf-8").split()) <= 1000


PARSERS: dict[str, Callable[[str], object]] = {
    "yaml": yaml.safe_load,
    "json": json.loads,
    "toml": tomllib.loads,
    "python": lambda text: compile(text, "page", "exec"),
    "text": str,
    "": str,
}


@pytest.mark.parametrize("page", [pytest.param(page, id=page_name(page)) for page in GUIDES])
def test_blocks_that_are_not_run_are_well_formed(page: Path) -> None:
    for block in blocks(page):
        if block.language != "sh":
            assert PARSERS[block.language](block.text), block
        elif block.unrun:
            subprocess.run(["sh", "-n"], input=block.text, text=True, check=True)
            for line in block.text.splitlines():
                if line.startswith("reviewdesk "):
                    assert_known(line)


def test_a_block_that_asks_for_nothing_is_run() -> None:
    # The reasons that are allowed, each on the page where it is.
    found = {(page_name(p), b.unrun) for p in GUIDES for b in blocks(p) if b.unrun}
    assert found == {
        ("README.md", "each line by itself, with an index that has the package"),
        ("README.md", "installs what it needs"),
        ("README.md", "it is what runs this"),
        ("docs/how-to/archives.md", "the parts and the places are yours"),
        ("docs/how-to/deploy.md", "it needs Docker"),
        ("docs/how-to/deploy.md", "the group, the host and the address are yours"),
        ("docs/how-to/labels-to-other-tools.md", "a part of each example"),
        ("docs/how-to/labels-to-other-tools.md", "needs a server"),
        ("docs/how-to/labels-to-other-tools.md", "needs the ids of a run that came from the tool"),
        ("docs/how-to/live-panels.md", "asks models"),
        ("docs/how-to/serve.md", "it serves until it is ended"),
        ("docs/how-to/share-a-desk.md", "the places are yours"),
        ("docs/install.md", "each line by itself, with an index that has the package"),
        ("docs/install.md", "installs what it needs"),
        ("docs/reference/desk-file.md", "the file is yours"),
    }


@pytest.mark.parametrize("page", [pytest.param(page, id=page_name(page)) for page in GUIDES])
def test_commands_in_the_text_exist(page: Path) -> None:
    lines = [code for code in codes(page) if code.startswith("reviewdesk ")]
    for line in lines:
        assert_known(line.replace("|", " ").replace("\n", " "))
    if page == README:
        assert len(lines) >= 5


def test_options_beside_a_command_are_its_own() -> None:
    text = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8").split("## Options")[0]
    known = dict(commands())
    counted = 0
    for row in (line for line in text.splitlines() if line.startswith("| `reviewdesk ")):
        name = max((n for n in known if row.startswith(f"| `{n}")), key=len)
        own = {opt for one in known[name].params for opt in (*one.opts, *one.secondary_opts)}
        for code in row.split("`")[1::2]:
            if code.startswith("-"):
                options = [word for word in code.split() if word.startswith("-")]
                assert set(options) <= own | {"--help"}, f"{name}: {code}"
                counted += len(options)
    assert counted > 40


def test_typed_commands_in_the_text_exist() -> None:
    found = [(page, code) for page in GUIDES for code in codes(page)]
    typed = [code for _, code in found if code[0] == ":" and code[1:2].isalnum()]
    assert len(typed) > 10
    for code in typed:
        parse_command(code)


KEYED = [README, DOCS / "tutorial.md", *(DOCS / "how-to").glob("*.md")]


def test_keys_in_the_text_exist() -> None:
    keymap = Keymap.of(ACTIONS)
    known = {key for action in ACTIONS for key in keymap.shown(action).split()}
    written = {code for page in KEYED for code in codes(page)}
    found = {code for code in written if len(code) == 1 or re.fullmatch(r"f\d", code)}
    assert len(found) > 20
    # The sign of a trimmed dissent is no key; a single dash is where a pipe is read.
    assert found - {"◆", "-"} <= known


def test_benchmarks_in_the_text_exist() -> None:
    pages = [*GUIDES, ROOT / "CONTRIBUTING.md"]
    found = (code.split() for page in pages for code in codes(page))
    named = {words[1] for words in found if words[0] == "python" and "/" in words[1]}
    assert {"benchmarks/coverage.py", "benchmarks/reference.py"} <= named
    assert all((ROOT / name).is_file() for name in named)


@pytest.mark.parametrize("file", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda f: f.stem)
def test_what_a_benchmark_imports_is_there(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("reviewdesk."):
            module = import_module(node.module or "")
            assert all(hasattr(module, name.name) for name in node.names), node.module


def test_a_mark_is_read_from_the_comment_before_its_fence(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- ends with 3 -->\n```sh\nexit 3\n```\n\n<!-- not run: why -->\n```sh\nx\n```\n"
        "\n<!-- file: a/b.json -->\n```json\n1\n```\n\n```sh\ny\n```\n",
        encoding="utf-8",
    )
    assert blocks(page) == [
        Block("sh", "exit 3\n", 3, code=3),
        Block("sh", "x\n", 8, unrun="why"),
        Block("json", "1\n", 13, file="a/b.json"),
        Block("sh", "y\n", 17),
    ]
