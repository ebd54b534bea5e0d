"""The wheel, installed from an index into an empty home, and what README says of installing."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, README, Block, blocks
from tests.helpers import ROOT, SAMPLES
from tests.package.packagekit import build, empty_home, index, only

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform == "win32", reason="the commands are written for a POSIX shell"
    ),
]

TOOLS = ("uv", "pipx")
BY_NAME = "each line by itself, with an index that has the package"
"""The mark of README's block of ways to install the package."""


@dataclass(frozen=True)
class Home:
    """An empty home: the folder that is worked in, and the variables of its shell."""

    folder: Path
    env: dict[str, str]

    def run(self, *command: str | Path) -> str:
        """Run a command that must end without an error, and return what it printed."""
        done = subprocess.run(
            command, env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def shell(self, text: str) -> str:
        """Run lines as if they were pasted into a shell."""
        return self.run("sh", "-e", "-c", text)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an index that serves the built wheel, what it needs and what builds it."""
    folder = tmp_path_factory.mktemp("index")
    build(ROOT, folder / "built", "wheel")
    with index(folder / "served", only(folder / "built", "*.whl")) as found:
        yield found
    shutil.rmtree(folder)


@pytest.fixture
def home(address: str, tmp_path: Path) -> Home:
    return Home(tmp_path, empty_home(tmp_path, address, *TOOLS))


@pytest.fixture
def installed(home: Home) -> Home:
    home.shell("uv tool install -q reviewdesk")
    return home


def readme(fits: Callable[[Block], bool]) -> list[Block]:
    return [block for block in blocks(README) if block.language == "sh" and fits(block)]


def by_name() -> list[str]:
    (block,) = readme(lambda block: block.unrun == BY_NAME)
    return block.text.splitlines()


@pytest.mark.parametrize("line", by_name())
def test_the_package_is_installed_by_its_name(home: Home, line: str) -> None:
    if line.startswith("pip "):  # of an environment that somebody has made and entered
        home.shell("uv venv -q entered")
        entered = home.folder / "entered" / "bin"
        pip = f'#!/bin/sh\nexec "{sys.executable}" -m pip --python "{entered}/python" "$@"\n'
        (entered / "pip").write_text(pip, encoding="utf-8")
        (entered / "pip").chmod(0o755)
        home.env["PATH"] = f"{entered}:{home.env['PATH']}"
    home.shell(line)
    assert home.shell("reviewdesk --version").startswith("reviewdesk, version ")
    found = Path(home.shell("readlink -f $(command -v reviewdesk)").strip())
    assert found.is_relative_to(home.folder)


@pytest.mark.skipif(
    shutil.which("git") is None or not (ROOT / ".git").exists(), reason="not in a clone"
)
def test_the_readme_from_top_to_bottom_in_a_clone(home: Home) -> None:
    home.run("git", "clone", "-q", ROOT, home.folder / "clone")
    wanted = readme(lambda block: not block.unrun or block.unrun == "installs what it needs")
    assert "git" not in wanted[0].text
    assert "-m venv" in wanted[0].text
    # What is to end with another code must do so.
    pasted = "".join(
        f"{block.text}\necho '== {block.line}'\n"
        if not block.code
        else f"set +e\n{block.text}\n[ $? = {block.code} ] && echo '== {block.line}'\nset -e\n"
        for block in wanted
    )
    shown = home.shell(f"cd clone\n{pasted}")
    assert [f"== {block.line}" in shown for block in wanted] == [True] * len(wanted)


def test_a_first_sitting(installed: Home) -> None:
    from tests.package.screenkit import OnScreen

    program = OnScreen(["reviewdesk", "demo"], installed.env, installed.folder)
    try:
        program.until(lambda text: "RUBRIC" in text and "0 of 30 done" in text)
        assert "insurance-excess" in program.rest()
        program.press("p")
        program.until(lambda text: "1 of 30 done" in text)
        program.press("q")
        assert program.ended() == 0
    finally:
        program.close()
    desk = only(installed.folder, ".local/share/reviewdesk/demo.db")
    labels = json.loads(installed.run("reviewdesk", "labels", "list", "--json", "--desk", desk))
    assert [row["id"] for row in labels] == ["insurance-excess"]


BASH = r"""
eval "$(reviewdesk completion bash)"
asked() {
    COMPREPLY=() COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _reviewdesk_completion reviewdesk "${@: -1}" "${@: -2:1}" 2> >(grep -v compopt)
    (IFS=+; echo "${COMPREPLY[*]}")
}
asked reviewdesk calib
asked reviewdesk show refund
asked reviewdesk export html --run supp
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_the_commands_outside_the_clone(installed: Home) -> None:
    for name in ("support-bot.jsonl", "library-desk.jsonl", "library-desk-truth.jsonl"):
        shutil.copy(SAMPLES / name, installed.folder)
    assert len(installed.run("reviewdesk", "open", "support-bot.jsonl").splitlines()) >= 30
    made = installed.run("reviewdesk", "label", "refund-after-30-days", "fail", "--json")
    assert json.loads(made)["label"] == "fail"
    assert installed.run("bash", "--norc", "-c", BASH).splitlines() == [
        "calibrate", "refund-after-30-days", "support-bot",
    ]  # fmt: skip
    installed.shell(
        "reviewdesk ingest library-desk.jsonl\n"
        "reviewdesk labels import library-desk-truth.jsonl --run library-desk\n"
        "reviewdesk export html -o run.html"
    )
    assert json.loads(installed.run("reviewdesk", "calibrate", "--json"))["n"] == 40
    assert "<html" in (installed.folder / "run.html").read_text(encoding="utf-8")


def test_the_library_is_typed_for_those_who_use_it(installed: Home) -> None:
    page = blocks(DOCS / "reference" / "library.md")
    texts = [block.text for block in page if block.language == "python"]
    assert texts
    texts.append((ROOT / "tests" / "library_use.py").read_text(encoding="utf-8"))
    file = installed.folder / "uses.py"
    (python,) = installed.folder.glob(".local/share/uv/tools/reviewdesk/bin/python")
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python)]
    for text in texts:
        file.write_text(text, encoding="utf-8")
        # What the library says is known: a wrong use of it is found.
        assert "Success" in installed.run(*mypy, file)
        installed.run(python, "-m", "compileall", "-q", file)
    file.write_text("from reviewdesk import Panel\n\nPanel(threshold=[])\n", encoding="utf-8")
    done = subprocess.run([*mypy, file], cwd=installed.folder, capture_output=True, check=False)
    assert b"[arg-type]" in done.stdout
