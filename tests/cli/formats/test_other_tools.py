"""Files of other tools at the command line: what a person says of them, and hostile ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli
from tests.cli.gatekit import Write
from tests.helpers import SHARED, controls
from tests.reports.promptfoo.test_promptfoo_hostile import KEY, everywhere
from tests.reports.promptfoo_rows import broken, result, row, rubric

ESCAPES = "\x1b[2J[bold]\u202e"


def critic(name: str, kind: str, confidence: float, error: str | None = None) -> dict[str, Any]:
    said = {"critic_id": name, "kind": kind, "confidence": confidence, "reasoning": f"{ESCAPES}why"}
    return {**said, "raw_response": None, "error": error, "elapsed_s": 0.5}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    critics = [critic("a", "KEEP", 0.9), critic("b", "SPLIT", 0.4), critic("c", "ERROR", 0, "down")]
    verdict = {"query_id": "q1", "verdicts": critics, "consensus": f"SPLIT{ESCAPES}"}
    meta = {"generator": "gpt-4o", f"key{ESCAPES}": 1}
    path = tmp_path / "panel.json"
    path.write_text(json.dumps([verdict | {"voting": "majority", "meta": meta}]))
    return path


def test_what_the_file_leaves_open_stays_open_and_every_jurors_word_is_shown(
    cli: Cli, path: Path
) -> None:
    (loaded,) = cli("ingest", path, "--json").json
    assert (loaded["format"], loaded["ballots"], loaded["failed_ballots"]) == ("cross-judge", 3, 1)
    shown = cli("show", "q1", "--json").json
    assert shown["same_family"] is None
    assert [(one["score"], one["pass"], one["status"]) for one in shown["jurors"]] == [
        (0.9, True, "ok"),
        (None, None, "ok"),
        (None, None, "error"),
    ]
    cli("ingest", path)
    shown = cli("show", "q1", "--json").json
    assert shown["decision"] is None
    assert shown["label_reported"].startswith("SPLIT")
    assert [one["label"] for one in shown["jurors"]] == ["KEEP", "SPLIT", "ERROR"]
    rows = [" ".join(row.split()) for row in cli("show", "q1").out.splitlines()]
    assert any(row.startswith("consensus reported SPLIT") for row in rows)
    assert "b - SPLIT counted" in rows
    done = cli("ingest", path, "--judge-columns", "a,b", "--format", "mcptest")
    assert (done.code, len(done.lines)) == (2, 1)
    assert "--judge-columns means nothing to" in done.lines[0]


def test_a_person_says_what_the_file_does_not(cli: Cli, path: Path) -> None:
    told = ("--fail-label", "split", "--models", "a=gpt-5", "--models", "b=claude-4")
    cli("ingest", path, *told)
    shown = cli("show", "q1", "--json").json
    assert shown["same_family"] is True
    # 1 - 0.4 for a fail with a confidence of 0.4
    assert [(one["score"], one["pass"]) for one in shown["jurors"][:2]] == [
        (0.9, True),
        (0.6, False),
    ]
    # other readings of the same bytes are other runs
    cli("ingest", path)
    assert len(cli("runs", "--json").json) == 2


def test_a_raw_score_is_shown_with_its_scale(cli: Cli, tmp_path: Path) -> None:
    rows = [{"item": "q", "judge": name, "score": score} for name, score in (("a", 4), ("b", 2))]
    path = tmp_path / "ratings.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (loaded,) = cli("ingest", path, "--json").json
    assert (loaded["ballots"], loaded["failed_ballots"]) == (2, 0)
    shown = cli("show", "q", "--json").json
    assert [(one["raw_score"], one["score"]) for one in shown["jurors"]] == [(4, None), (2, None)]
    drawn = [" ".join(row.split()) for row in cli("show", "q").out.splitlines()]
    assert "a raw 4 - waits for --scale" in drawn
    (again,) = cli("ingest", path, "--scale", "0..8", "--json").json
    shown = cli("show", "q", "--json", "--run", again["run"]).json
    # 4 and 2 of 8.
    told = [(one["raw_score"], one["scale"], one["score"]) for one in shown["jurors"]]
    assert told == [(4, [0, 8], 0.5), (2, [0, 8], 0.25)]


def test_hostile_texts_stay_inert(cli: Cli, path: Path) -> None:
    for done in (cli("ingest", path), cli("show", "q1"), cli("queue"), cli("runs")):
        assert done.code == 0
        assert not {"\x1b", "\u202e"} & set(done.out + done.err)


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
    _leaves_nothing(cli, write("run.json", json.dumps(everywhere()).encode()), KEY, desk_path)


def test_the_real_file_with_a_key_in_clear(cli: Cli, desk_path: Path) -> None:
    if not LEAKED.exists():
        pytest.skip("the real files are not beside this checkout")
    assert FAKE in LEAKED.read_text()
    _leaves_nothing(cli, LEAKED, FAKE, desk_path)


def test_a_failed_grader_is_shown_as_failed(cli: Cli, write: Write) -> None:
    document = result(row(rubric(0.9, True, reason="\x1b[31mred"), broken(), success=False))
    loaded = cli("ingest", write("run.json", json.dumps(document).encode()), "--json").json
    assert (loaded[0]["ballots"], loaded[0]["failed_ballots"]) == (2, 1)
    shown = cli("show", "greets")
    assert not controls(shown.out)
    assert "Could not extract JSON" in shown.out
