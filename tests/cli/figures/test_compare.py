"""Two panels compared from the shell: what is printed first, and its JSON."""

import pytest

from tests.cli.conftest import Cli
from tests.helpers import SAMPLES

RUNS = "support-bot", "support-bot-second-panel"


def test_the_conclusion_comes_first_and_is_in_the_json(cli: Cli) -> None:
    assert cli("ingest", *(SAMPLES / f"{name}.jsonl" for name in RUNS)).code == 0
    bare = cli("compare", *RUNS)
    assert bare.code == 0
    assert bare.out.startswith(
        "Which panel is right more often is not known: no label says pass or fail of the 24 items "
        "that both decided; 8 decisions differ."
    )
    rows = cli("queue", "--run", RUNS[0], "--filter", f"flip:{RUNS[1]}", "--json").json
    assert len(rows) == 8
    decided = [row for row in rows if row["decision"] in {"pass", "fail"}]
    for row in decided:
        assert cli("label", f"{RUNS[0]}:{row['id']}", row["decision"]).code == 0
    # Five of the eight are decided by both: the first panel is right on all of them, 5 of 24 items.
    found = cli("compare", *RUNS, "--json").json
    assert found["flips"] == 8
    assert found["difference"] == {
        "to": RUNS[1], **dict.fromkeys(("estimate", "low", "high"), pytest.approx(5 / 24)),
        "items": 24, "apart": 5, "labelled": 5,
    }  # fmt: skip
    assert found["conclusion"].startswith("support-bot is right more often by 20.8 points (exact)")
    assert cli("compare", *RUNS).out.startswith(found["conclusion"])
    # The other way round it is the second that is ahead; a single name means the run opened last.
    turned = cli("compare", RUNS[0], "--json").json
    assert turned["first"]["run"] == RUNS[1]
    assert turned["difference"]["estimate"] == pytest.approx(-5 / 24)
    assert turned["conclusion"] == found["conclusion"]


def test_what_cannot_be_compared_is_said_in_a_line(cli: Cli) -> None:
    assert cli("ingest", SAMPLES / "support-bot.jsonl", SAMPLES / "code-review.json").code == 0
    same = cli("compare", "support-bot", "support-bot")
    assert (same.code, same.out) == (2, "")
    assert "support-bot cannot be compared with itself" in same.err
    assert cli("compare", "support-bot", "nobody").code == 2
    apart = cli("compare", "support-bot", "code-review")
    assert (apart.code, apart.out.splitlines()[0]) == (
        0,
        "No item of support-bot was judged in code-review: there is nothing to compare.",
    )
