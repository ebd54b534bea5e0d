"""A suite and its labels, written together: the same figures as ``calibrate``, and no others."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Cli, give
from tests.cli.gatekit import FOUR, Write, asking, facts, only_entry, values, xml_of
from tests.helpers import numbered, report, verdict

SUITE = ("labels", "export", "--format", "suite", "-o")
STRICT = "--require-representative"
SHARED = (
    *("n", "ece", "ece_p", "brier", "gap", "accuracy", "auroc", "sensitivity", "specificity"),
    *("corrected_rate", "corrected_rate_low", "corrected_rate_high", "honest_rate"),
)
"""Targets that ``calibrate --json`` has under the same name."""
ENDS = [
    f"{name}_{end}"
    for name in ("accuracy", "brier", "gap", "sensitivity", "specificity", "kappa", "honest_rate")
    for end in ("low", "high")
]


def truths(cli: Cli, kind: str, dice: random.Random) -> bytes:
    """Labels of a loaded run, a fifth of which disagree with the panel."""
    made = []
    for row in cli("queue", "--json").json:
        flagged = row["stratum"].startswith("flagged")
        asked = {
            "census": True, "weighted": row["audit"] or flagged or dice.random() < 0.1,
            "escalated-only": flagged, "any": dice.random() < 0.3,
        }  # fmt: skip
        if asked[kind]:
            right = row["decision"]
            wrong = "fail" if right == "pass" else "pass"
            odds = [80, 20, 0 if kind == "census" else 5]
            made.append({"id": row["id"], "truth": dice.choices([right, wrong, "unsure"], odds)[0]})
    return "".join(f"{json.dumps(row)}\n" for row in made).encode()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["census", "weighted", "escalated-only", "any"])
def test_suite_says_the_same(cli: Cli, write: Write, tmp_path: Path, kind: str, seed: int) -> None:
    dice = random.Random(f"{kind} {seed}")  # noqa: S311 - dice, not secrets
    body = json.loads(numbered(400 if seed == 2 else dice.choice([50, 80, 120])))
    for at, one in enumerate(body["verdicts"] if seed == 2 else ()):
        # Of five verdicts, three are on the content of another, decided otherwise or not.
        other = body["verdicts"][at - at % 5 % 3]
        one |= {"input": other["input"], "output": other["output"]}
    cli("ingest", write("report.json", json.dumps(body).encode()))
    assert cli("labels", "import", write("truths.jsonl", truths(cli, kind, dice))).code == 0
    desk = cli("calibrate", "--json").json
    assert kind in {desk["design"], "any"}
    done = cli(*SUITE, tmp_path / "judge")
    assert (done.code, done.out) == (0, "")
    path = tmp_path / "judge" / "suite.yml"
    names = {*SHARED, *ENDS}
    if desk["design"] not in {"weighted", "census"}:
        # Nothing is said of the run, nor can it be asked.
        assert cli("gate", path, STRICT).code in {1, 3}
        names = {name for name in names if not name.startswith("honest_rate")}
    text = path.read_text(encoding="utf-8") + asking(*sorted(names))
    path.write_text(text, encoding="utf-8")
    found = values(cli("gate", path, "--json"))
    known = desk | {"honest_rate": desk["honest"]["estimate"]}
    assert {name: found[name] for name in SHARED if name in names} == {
        name: pytest.approx(known[name], abs=1e-12) for name in SHARED if name in names
    }
    if "honest_rate" in names:
        such = {name: value for name, value in desk["such_items"].items() if name in found}
        assert such
        assert {name: found[name] for name in such} == pytest.approx(such, abs=1e-9)
    # The gate on the run itself reads the same, the ends of the intervals too.
    own = ("reliability:", "frame:")
    kept = (line for line in text.splitlines() if not line.strip().startswith(own))
    entry = "\n".join(kept).replace("labels: ./labels.jsonl", "run: run")
    itself = values(cli("gate", write("run.yml", entry.encode()), "--json"))
    assert found == {name: pytest.approx(itself[name], abs=1e-9) for name in found}


@pytest.fixture
def census(cli: Cli, write: Write) -> Cli:
    """Four verdicts, all labelled as the panel decided."""
    cli("ingest", write("report.json", report(*FOUR)))
    give((("a", "pass"), ("b", "pass"), ("c", "fail"), ("d", "fail")))
    return cli


def test_the_files_are_written_the_same_each_time(census: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "judge"
    assert census(*SUITE, folder).code == 0
    names = ["frame.jsonl", "labels.jsonl", "suite.yml"]
    assert sorted(path.name for path in folder.iterdir()) == names
    first = [path.read_bytes() for path in sorted(folder.iterdir())]
    refused = census(*SUITE, folder)
    assert (refused.code, "already exists" in refused.err) == (2, True)
    assert census(*SUITE, folder, "--force").code == 0
    assert [path.read_bytes() for path in sorted(folder.iterdir())] == first
    assert all(data.isascii() for data in first)
    frame, rows = ([json.loads(line) for line in data.splitlines()] for data in first[:2])
    assert [row["stratum"] for row in frame] == ["rest/pass"] * 2 + ["rest/fail"] * 2
    assert {row["item_hash"] for row in frame} == {row["item_hash"] for row in rows}
    assert sorted((row["id"], row["weight"], row["selection"]) for row in rows) == [
        (name, 1.0, "draw") for name in "abcd"
    ]
    # Whole numbers where every row stands for one verdict.
    assert b"reliability: { tp: 2, fn: 0, tn: 2, fp: 0 }\n" in first[2]


def test_limits_that_are_written_hold_while_product_improves(census: Cli, tmp_path: Path) -> None:
    census(*SUITE, tmp_path)
    path = tmp_path / "suite.yml"
    (entry,) = yaml.safe_load(path.read_text(encoding="utf-8"))["calibration"]
    assert {one["target"]: one["matcher"]["schema"] for one in entry["expect"]} == {
        "ece": {"maximum": 0.1},
        "brier": {"maximum": 0.25},
        "specificity_low": {"minimum": 0.8},
    }
    checks = only_entry(census("gate", path, "--json"))["checks"]
    before = {one["target"]: one["status"] for one in checks}
    # Two caught of two: Wilson's interval begins at 0.34.
    assert before["specificity_low"] == "fail"
    text = path.read_text(encoding="utf-8").replace("_rate: 0.5", "_rate: 0.9")
    path.write_text(text, encoding="utf-8")
    checks = only_entry(census("gate", path, "--json"))["checks"]
    assert {one["target"]: one["status"] for one in checks} == before


def test_two_reviewers_of_one_verdict_are_one_row(census: Cli, tmp_path: Path) -> None:
    assert census("label", "a", "pass", "--reviewer", "bea").code == 0
    census(*SUITE, tmp_path)
    assert len((tmp_path / "labels.jsonl").read_bytes().splitlines()) == 4
    found = facts(census("gate", tmp_path / "suite.yml", "--json"))["entries"][0]
    assert "4 labels" in found["notes"]


@pytest.mark.slow
def test_weights_make_decimals(cli: Cli, write: Write, tmp_path: Path) -> None:
    cli("ingest", write("report.json", numbered(80)))
    for place, row in enumerate(cli("queue", "--json").json):
        if row["audit"] or row["stratum"].startswith("flagged"):
            right = row["decision"] if place % 5 else {"pass": "fail"}.get(row["decision"], "pass")
            cli("label", row["id"], right)
    cli(*SUITE, tmp_path)
    text = (tmp_path / "suite.yml").read_text(encoding="utf-8")
    cells = text.split("reliability: { ")[1].split(" }")[0]
    made = {one.split(": ")[0]: float(one.split(": ")[1]) for one in cells.split(", ")}
    desk = cli("calibrate", "--json").json
    assert sum(made.values()) == pytest.approx(50)
    assert made["tp"] + made["tn"] == pytest.approx(50 * desk["accuracy"])
    assert made["tp"] != round(made["tp"])
    done = cli("gate", tmp_path / "suite.yml", STRICT, "--json")
    assert facts(done)["entries"][0]["representative"] is True
    # The raw counts of the same labels are another confusion than that of the weighted rows.
    raw = ", ".join(f"{name}: {desk[name]}" for name in made)
    refused = cli("gate", write("suite.yml", text.replace(cells, raw).encode()))
    assert refused.code == 2
    assert "50 labels of ./labels.jsonl" in refused.err


@pytest.mark.parametrize(
    ("options", "said"),
    [((), "Name it with -o"), (("-o", "{}/report.json"), "report.json: file exists")],
)
def test_what_cannot_be_written(census: Cli, tmp_path: Path, options: Any, said: str) -> None:
    done = census(*SUITE[:-1], *(one.format(tmp_path) for one in options))
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert not (tmp_path / "judge").exists()


def test_no_labels_are_no_suite(cli: Cli, write: Write, tmp_path: Path) -> None:
    cli("ingest", write("report.json", numbered(3)))
    done = cli(*SUITE, tmp_path / "judge")
    assert (done.code, (tmp_path / "judge").exists()) == (2, False)
    assert "no pass or fail labels yet" in done.err


def test_a_name_from_outside_stays_a_name(cli: Cli, write: Write, tmp_path: Path) -> None:
    name = 'x"\n- evil: {1}\x85\u2028\x1b[31m é 😀 \\'
    cli("ingest", write("report.json", report(verdict("a"), report_id=name)))
    cli("label", "a", "pass")
    cli(*SUITE, tmp_path)
    text = (tmp_path / "suite.yml").read_text(encoding="utf-8")
    assert text.isascii()
    assert text.replace("\n", "").isprintable()
    only = only_entry(cli("gate", tmp_path / "suite.yml", "--json"))
    assert only["name"].startswith('the judge of x"')
    assert "é 😀 \\" in only["name"]


def test_the_interval_is_printed_in_every_form(census: Cli, tmp_path: Path) -> None:
    census(*SUITE, tmp_path)
    path, xml = tmp_path / "suite.yml", tmp_path / "out.xml"
    line = "      - { target: accuracy, matcher: { schema: { minimum: 0.9 } } }\n"
    path.write_text(path.read_text(encoding="utf-8") + line, encoding="utf-8")
    done = census("gate", path, "--junit", xml)
    # Wilson of 4 of 4: 4 / (4 + 3.8415).
    told = "accuracy is 1, 0.5101 to 1, must be at least 0.9, margin +0.1"
    assert told in done.out
    (case,) = xml_of(xml).iter("testcase")
    assert told in (case[0].text or "")
    assert "accuracy is 0.5101 to 1, which reaches past 0.9" in (case[0].text or "")
    check = facts(census("gate", path, "--json"))["entries"][0]["checks"][-1]
    assert (check["value"], check["limit"], check["reaches_past"]) == (1.0, 0.9, True)
    assert (check["low"], check["high"]) == pytest.approx((0.5101, 1.0), abs=5e-5)
