"""promptfoo results from the shell: loaded, shown, exported; no key of theirs comes along."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.gatekit import Write
from tests.helpers import SHARED, controls
from tests.reports.promptfoo.test_promptfoo_keys import KEY, everywhere
from tests.reports.promptfoo_rows import broken, result, row, rubric

FORMATS = SHARED / "formats"
LEAKED = FORMATS / "promptfoo" / "default-grader-repeat-leaked-key.json"
FAKE = "sk-FAKEKEY-not-real-0123456789abcdef"


def _leaves_nothing(cli: Cli, path: Path, key: str, desk: Path) -> None:
    """Load a file and look at each way out of the desk, byte by byte."""
    told = [cli("ingest", path, "--json"), cli("runs"), cli("queue"), cli("queue", "--json")]
    name = told[-1].json[0]["id"]
    told += [cli("show", name, "--json"), cli("show", name), cli("label", name, "pass")]
    told += [cli("labels", "export", "--format", kind) for kind in ("mcptest", "full", "csv")]
    for done in told:
        assert (done.code, key in done.out + done.err) == (0, False)
    files = [each for each in desk.parent.iterdir() if each.is_file()]
    assert desk in files
    assert all(key.encode() not in each.read_bytes() for each in files)


def test_no_key_comes_into_the_desk(cli: Cli, write: Write, desk_path: Path) -> None:
    path = write("run.json", json.dumps(everywhere()).encode())
    _leaves_nothing(cli, path, KEY, desk_path)


def test_the_real_file_with_a_key_in_clear(cli: Cli, desk_path: Path) -> None:
    if not LEAKED.exists():
        pytest.skip("the real files are not beside this checkout")
    assert FAKE in LEAKED.read_text()
    _leaves_nothing(cli, LEAKED, FAKE, desk_path)


def test_a_cut_off_file_is_one_line_and_loads_nothing(cli: Cli, write: Write) -> None:
    data = json.dumps(result(row(rubric(1, True)))).encode()
    done = cli("ingest", write("run.json", data[: len(data) // 2]))
    assert done.code == 2
    (line,) = done.lines
    assert "run.json: ends in the middle of a value. The file looks cut off" in line


def test_a_failed_grader_is_shown_as_failed(cli: Cli, write: Write) -> None:
    document = result(row(rubric(0.9, True, reason="\x1b[31mred"), broken(), success=False))
    loaded = cli("ingest", write("run.json", json.dumps(document).encode()), "--json").json
    assert (loaded[0]["ballots"], loaded[0]["failed_ballots"]) == (2, 1)
    shown = cli("show", "greets")
    assert not controls(shown.out)
    assert "Could not extract JSON" in shown.out
