"""A panel in which every juror abstains has no decision, wherever it is looked at."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli
from tests.cli.gatekit import Write
from tests.helpers import mostly_slow

WITHHELD: dict[str, Any] = {"score": 0.9, "pass": None}
ABSTAINED: dict[str, Any] = {"status": "abstained", "pass": None, "score": None, "raw_score": 0.9}
STRATEGIES = (
    "quorum", "majority", "unanimous", "weighted_average", "mean", "median", "highest", "lowest",
    "trimmed_mean", "supermajority", "single",
)  # fmt: skip


def report(said: dict[str, Any]) -> dict[str, Any]:
    """One panel of three for each strategy; everything that a decision could want is known."""
    return {
        "schema": "reviewdesk.report/1",
        "report_id": "quiet",
        "defaults": {"threshold": 0.7, "quorum": "2/3"},
        "verdicts": [
            {
                "id": name, "case": {"test": name}, "output": name, "strategy": name,
                "jurors": [{"id": juror, **said} for juror in "abc"],
            }
            for name in STRATEGIES
        ],
    }  # fmt: skip


@pytest.fixture(params=mostly_slow([ABSTAINED, WITHHELD]), ids=["abstained", "withheld"])
def loaded(request: pytest.FixtureRequest, cli: Cli, write: Write) -> Cli:
    assert cli("ingest", write("quiet.json", json.dumps(report(request.param)).encode())).code == 0
    return cli


def test_the_item_and_the_queue(loaded: Cli) -> None:
    rows = loaded("queue", "--json").json
    assert {(row["decision"], row["stratum"]) for row in rows} == {(None, "flagged/none")}
    for name in STRATEGIES:
        shown = loaded("show", name, "--json").json
        assert shown["decision"] is None
        assert set(shown["decisions"].values()) == {None}
        assert "no_verdict" in shown["flags"]
        assert shown["reasons"]["no_verdict"].startswith("no votes: 3 ")
        assert "NO DECISION" in loaded("show", name).out
    assert loaded("runs", "--json").json[0]["decisions"]["none"] == len(STRATEGIES)


def test_what_leaves_the_desk(loaded: Cli, tmp_path: Path) -> None:
    assert f"{len(STRATEGIES)} no decision" in loaded("export", "markdown").out
    page, again = tmp_path / "page.html", tmp_path / "again.json"
    assert loaded("export", "html", "-o", page).code == 0
    assert page.read_text(encoding="utf-8").upper().count("NO DECISION") >= len(STRATEGIES)
    assert loaded("export", "report", "-o", again).code == 0
    verdicts = json.loads(again.read_text(encoding="utf-8"))["verdicts"]
    assert len(verdicts) == len(STRATEGIES)
    assert all("decision" not in verdict for verdict in verdicts)
