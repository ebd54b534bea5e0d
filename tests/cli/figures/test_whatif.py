"""``whatif`` from the shell: its options, its shapes, and what it refuses."""

import pytest

from tests.cli.conftest import Cli
from tests.cli.gatekit import Write
from tests.helpers import SAMPLES, report, verdict

KEYS = {"policy", "flipped", "pass_rate", "inconclusive", "n_labelled", "accuracy", "brier", "ece"}


@pytest.fixture
def loaded(cli: Cli, write: Write) -> Cli:
    data = report(verdict("clear", 0.9, 0.8, 0.7), verdict("torn", 0.9, 0.9, 0.0))
    assert cli("ingest", write("report.json", data)).code == 0
    return cli


def test_the_whole_table(loaded: Cli) -> None:
    rows = loaded("whatif", "--json").json
    assert all(row.keys() >= KEYS for row in rows)
    assert rows[0]["policy"] == "as it stands"
    assert [row["policy"] for row in rows[1:4]] == ["quorum", "majority", "unanimous"]
    assert all(row["accuracy"] is row["brier"] is row["ece"] is None for row in rows)
    lowest = next(row for row in rows if row["policy"] == "lowest")
    # Lowest 0.7 and 0.0 against 0.6: torn was a pass.
    assert (lowest["flipped"], lowest["pass_rate"], lowest["strategy"]) == (1, 0.5, "lowest")
    plain = loaded("whatif")
    assert plain.code == 0
    # Ten rules, a trim of nothing and four by three roundings, seven quorums, five thresholds and
    # three jurors: each a line of seven figures, the last undefined.
    rows = [line.split()[-7:] for line in plain.out.splitlines() if line.endswith(" -")]
    assert [len(row) for row in rows] == [7] * (1 + 10 + 13 + 7 + 5 + 3)
    assert "● mean" in plain.out
    assert "2 verdicts, no labels" in plain.out


def test_options_are_combined(loaded: Cli) -> None:
    asked = ("--strategy", "mean", "--strategy", "median", "--threshold", "0.65", "--drop", "j3")
    rows = loaded("whatif", "--json", *asked).json
    # Without j3 both are 0.85 and 0.9.
    assert [(row["policy"], row["flipped"]) for row in rows] == [
        ("mean, threshold 0.65, without j3", 0),
        ("median, threshold 0.65, without j3", 0),
    ]
    trims = loaded("whatif", "--json", "--trim", "0.1", "--trim", "0.4", "--rounding", "up").json
    assert [row["policy"] for row in trims] == ["trimmed_mean 10% up", "trimmed_mean 40% up"]
    assert [(row["fraction"], row["rounding"]) for row in trims] == [(0.1, "up"), (0.4, "up")]
    quorums = loaded("whatif", "--json", "--quorum", "2/3", "--quorum", "1").json
    # torn has two of three votes: a third short of all.
    assert [(row["quorum"], row["flipped"]) for row in quorums] == [("2/3", 0), (1.0, 1)]


def test_one_verdict_and_a_zero_without_a_sign(loaded: Cli) -> None:
    for written in ("-0", "-0.0", "0"):
        [found] = loaded("whatif", "--json", f"--trim={written}").json
        assert (found["policy"], str(found["fraction"])) == ("trimmed_mean 0%", "0.0")
    rows = loaded("whatif", "torn", "--json").json
    assert rows[0] | {"differs": False, "decision": "pass", "value": 0.6} == rows[0]
    lowest = next(row for row in rows if row["policy"] == "lowest")
    assert (lowest["value"], lowest["decision"], lowest["differs"]) == (0.0, "fail", True)
    plain = loaded("whatif", "run:torn", "--strategy", "lowest").out.splitlines()
    assert plain[1].split() == ["policy", "value", "decision"]
    assert plain[2].split() == ["as", "it", "stands", "0.600", "pass"]
    assert [row.split() for row in plain[3:]] == [["lowest", "0.000", "fail", "differs"]]
    # One juror of three bought moves the mean .6 down to .3, a fail, or up to .933; two, to 0.
    attacks = loaded("whatif", "run:torn").out.split("ATTACK\n")[1].splitlines()
    assert attacks[0].split() == ["rule", "1", "bought", "2", "bought", "3", "bought"]
    assert attacks[5].split()[:5] == ["mean", "0.333", "!", "0.600", "!"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--trim", "0.5"), ("--trim", "-0.1"), ("--trim", "nan"), ("--trim", "20%"),
        ("--threshold", "1.1"), ("--threshold", "inf"), ("--threshold", "high"),
        ("--quorum", "0"), ("--quorum", "4/3"), ("--drop", "nobody"), ("nothing",),
        ("torn", "--drop", "nobody"), ("--run", "nothing"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_cannot_be_is_one_line(loaded: Cli, arguments: tuple[str, ...]) -> None:
    done = loaded("whatif", *arguments)
    assert done.code == 2
    assert done.out == ""
    told = [line for line in done.lines if not line.startswith("run: ")]
    assert len(told) == 1
    assert ".." not in told[0]


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
