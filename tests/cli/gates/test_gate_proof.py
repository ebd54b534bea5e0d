"""What a gate takes as shown: intervals, the labels' own confusion, and suites that are damaged."""

import json
import math
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk.gates.suite import run_suite
from reviewdesk.domain.gates.expect import ASKED, CALIBRATION_SPANS, COMPOSITE
from reviewdesk.domain.stats.correction import lang_reiczigel
from reviewdesk.errors import NotFoundError, SuiteError
from tests.cli.conftest import Cli, Done, give, once
from tests.cli.gatekit import FOUR, Write, asking, facts, only_entry, rows, values
from tests.helpers import report
from tests.reports.tablekit import damaged

STRICT = "--require-representative"
Ask = Callable[..., Done]


def expect(target: str, matcher: str) -> str:
    return f"      - {{ target: {target}, matcher: {{ {matcher} }} }}\n"


def least(target: str, limit: float) -> str:
    return expect(target, f"schema: {{ minimum: {limit} }}")


def most(target: str, limit: float) -> str:
    return expect(target, f"schema: {{ maximum: {limit} }}")


@pytest.fixture
def four(cli: Cli, write: Write, tmp_path: Path) -> Ask:
    """Hold a run of four verdicts, each labelled as its panel decided, to expectations."""

    def make() -> None:
        cli("ingest", write("report.json", report(*FOUR)))
        give((("a", "pass"), ("b", "pass"), ("c", "fail"), ("d", "fail")))
        write("labels.jsonl", cli("labels", "export", "--format", "full").out.encode())

    once(tmp_path, "four", make)

    def call(source: str, *expected: str, options: tuple[str, ...] = ()) -> Done:
        text = f"calibration:\n  - name: n\n    {source}\n    expect:\n{''.join(expected)}"
        return cli("gate", write("s.yml", text.encode()), *options)

    return call


@pytest.mark.parametrize("source", ["run: run", "labels: labels.jsonl"])
@pytest.mark.parametrize(
    ("check", "told"),
    [
        # Wilson of 4 of 4 is 0.5101 to 1, of either class 2 of 2: 0.3424 to 1.
        (least("accuracy", 0.9), "accuracy is 0.5101 to 1, which reaches past 0.9"),
        (least("sensitivity", 0.9), "sensitivity is 0.3424 to 1, which reaches past 0.9"),
        (least("specificity", 0.9), "specificity is 0.3424 to 1, which reaches past 0.9"),
        # Confidence 0.8: 0.5101 · 0.04 + 0.4899 · 0.64 = 0.3339, and 0.8 - 0.5101.
        (most("brier", 0.25), "brier is 0.04 to 0.3339, which reaches past 0.25"),
        (most("gap", 0.1), "gap is -0.2 to 0.2899, which reaches past 0.1"),
    ],
)
def test_four_labels_that_agree_show_nothing(four: Ask, source: str, check: str, told: str) -> None:
    assert four(source, check).code == 0
    done = four(source, check, options=(STRICT,))
    assert (done.code, rows(done)) == (3, ["NOT SHOWN"])
    assert done.err == f"not representative: n ({told})\n"


def test_the_pass_rate_needs_more_than_four_and_its_end_is_a_target(four: Ask) -> None:
    # Two of four should pass: Wilson of 2 of 4 is 0.15 to 0.85.
    assert four("run: run", most("honest_rate", 0.8)).code == 0
    done = four("run: run", most("honest_rate", 0.8), options=(STRICT,))
    assert done.code == 3
    assert "honest_rate is 0.15 to 0.85, which reaches past 0.8" in done.err
    assert four("run: run", least("accuracy_low", 0.51)).code == 0
    assert four("run: run", least("accuracy_low", 0.52)).code == 1
    assert four("run: run", most("brier_high", 0.33)).code == 1
    # An end is held to its limit as it is, with nothing more to show.
    assert four("run: run", least("accuracy_low", 0.51), options=(STRICT,)).code == 0


@pytest.mark.parametrize(
    ("check", "code"),
    [
        # An interval within its limit, with 1e-9 of slack at the end that Wilson puts at 1.
        (least("accuracy", 0.5), 0),
        (expect("accuracy", "schema: { minimum: 0.5, maximum: 1 }"), 0),
        (expect("accuracy", "schema: { minimum: 0.5, maximum: 1, multipleOf: 0.5 }"), 0),
        (expect("accuracy", "schema: { minimum: 0.9, multipleOf: 0.5 }"), 3),
        # Other matchers, and figures without an interval, are judged by the design.
        (expect("accuracy", "exact: 1"), 0),
        (expect("accuracy", "not: { schema: { maximum: 0.9 } }"), 0),
        (expect("accuracy", "schema: { exclusiveMinimum: 0.9 }"), 0),
        (most("ece", 0.25), 0),
        (least("n", 4), 0),
        # A gate that fails comes first.
        (least("accuracy", 0.9) + least("n", 5), 1),
    ],
)
def test_what_is_judged_by_its_interval(four: Ask, check: str, code: int) -> None:
    assert four("run: run", check, options=(STRICT,)).code == code


@pytest.mark.usefixtures("four")
def test_the_default_gates_are_judged_by_the_design_alone(cli: Cli, write: Write) -> None:
    # Scores of 0.8 and 0.2: an ECE of 0.2 fails, whatever the interval of Brier is.
    path = write("s.yml", b"calibration:\n  - name: n\n    run: run\n")
    found = facts(cli("gate", path, STRICT, "--json"))["entries"][0]
    assert (found["checks"][1]["reaches_past"], found["doubts"]) == (True, [])


PAIRS = (
    b'{"confidence": 0.9, "correct": true}\n' * 33 + b'{"confidence": 0.9, "correct": false}\n' * 7
)
FILE = "calibration:\n  - name: n\n    labels: labels.jsonl\n    reliability: {}\n"
OBSERVED = "    observed_positive_rate: 0.5\n"


@pytest.mark.parametrize(
    ("block", "code", "other"),
    [
        ("{ tp: 25, fn: 2, tn: 8, fp: 5 }", 0, False),
        ("{ tp: 25.2, fn: 1.8, tn: 8.2, fp: 4.8 }", 0, False),
        ("{ tp: 30, fn: 2, tn: 8, fp: 0 }", 2, False),
        ("{ tp: 25.4, fn: 1.7, tn: 8.2, fp: 4.7 }", 2, False),
        ("{ tp: 90, fn: 10, tn: 80, fp: 20 }", 0, True),
        ("{ tp: 25, fn: 2, tn: 8, fp: 6 }", 0, True),
        ("{ tp: 0, fn: 0, tn: 0, fp: 0 }", 0, True),
    ],
)
def test_a_block_counts_what_its_labels_count(
    cli: Cli, write: Write, tmp_path: Path, block: str, code: int, other: bool
) -> None:
    write("labels.jsonl", PAIRS)
    text = FILE.format(block) + "    expect:\n" + least("accuracy", 0.5)
    path = write("s.yml", text.encode())
    done = cli("gate", path)
    assert (done.code, "reliability of another set" in done.out) == (code, other)
    if code == 2:
        said = {"30": "38", "25": "33.6"}[block[6:8]]
        assert done.err == (
            f"{tmp_path / 's.yml'}:4: reliability: tp + tn is {said}, but 33 of the 40 labels of "
            "labels.jsonl are correct. Write the two together: reviewdesk labels export --format "
            "suite -o FOLDER.\n"
        )
    assert cli("gate", path, STRICT).code == (code or 3)
    assert ("another set" in cli("gate", path, STRICT).err) is other


def rowed(weight: float | None, decision: str, *, correct: bool) -> str:
    facts_ = {"decision": decision, "weight": weight, "stratum": f"rest/{decision}"}
    row = {"confidence": 0.8, "correct": correct, "selection": "draw", "pi": 0.5, **facts_}
    return json.dumps(row) + "\n"


def test_a_block_is_held_to_weights_and_without_rows_of_none(cli: Cli, write: Write) -> None:
    # Ten rows count: masses 8 · 5 and 0, and 2 · 1, of 42; right 8 · 5 / 42 of 10 = 9.52.
    text = rowed(5.0, "pass", correct=True) * 8 + rowed(1.0, "fail", correct=False) * 2
    text += rowed(0.0, "fail", correct=True) * 3
    write("labels.jsonl", text.encode())
    for block, code in (
        ("{ tp: 9.5, fn: 0.5, tn: 0, fp: 0 }", 0),
        ("{ tp: 8, fn: 2, tn: 0, fp: 0 }", 2),
        ("{ tp: 0, fn: 0.5, tn: 9.5, fp: 0 }", 2),
    ):
        done = cli("gate", write("s.yml", FILE.format(block).encode()))
        assert done.code == code or (code, done.code) == (0, 1)
    assert (
        "tp, fn, tn, fp are 0, 0.5, 9.5, 0, but the 10 labels of labels.jsonl give 9.52381, "
        in (done.err)
    )


@pytest.mark.usefixtures("four")
def test_a_run_refuses_a_block_that_its_labels_contradict(cli: Cli, write: Write) -> None:
    text = "calibration:\n  - name: n\n    run: run\n    reliability: {}\n"
    for block, code in (
        ("{ tp: 2, fn: 0, tn: 2, fp: 0 }", 1),
        ("{ tp: 4, fn: 0, tn: 0, fp: 0 }", 2),
        ("{ tp: 1, fn: 1, tn: 1, fp: 1 }", 2),
    ):
        done = cli("gate", write("s.yml", text.format(block).encode()))
        assert done.code == code, block
        assert code == 1 or ":4: reliability: " in done.err


def test_a_block_stands_in_for_decisions_that_no_row_has(cli: Cli, write: Write) -> None:
    write("labels.jsonl", PAIRS)
    targets = ("sensitivity", "specificity", "kappa", "sensitivity_low", "specificity_high")
    wanted = asking(*targets)
    text = FILE.format("{ tp: 25, fn: 2, tn: 8, fp: 5 }") + "    expect:\n" + wanted
    found = values(cli("gate", write("s.yml", text.encode()), "--json"))
    # p_o 33/40, p_e (30 · 27 + 10 · 13) / 1600.
    chance = (30 * 27 + 10 * 13) / 1600
    assert (found["sensitivity"], found["specificity"]) == pytest.approx((25 / 27, 8 / 13))
    assert found["kappa"] == pytest.approx((33 / 40 - chance) / (1 - chance))
    # Wilson of 25 of 27, and of 8 of 13.
    assert found["sensitivity_low"] == pytest.approx(0.7663, abs=5e-5)
    assert found["specificity_high"] == pytest.approx(0.8229, abs=5e-5)
    bare = "".join(text.splitlines(keepends=True)[:3]) + "    expect:\n" + wanted
    only = only_entry(cli("gate", write("s.yml", bare.encode()), "--json"))
    assert {check["status"] for check in only["checks"]} == {"skip"}


def test_the_pass_rate_of_a_trusted_set(cli: Cli, write: Write) -> None:
    write("labels.jsonl", PAIRS)
    ends = ("honest_rate", "honest_rate_low", "honest_rate_high")
    text = FILE.format("{ tp: 90, fn: 10, tn: 80, fp: 20 }") + OBSERVED + "    observed_n: 400\n"
    text += "    expect:\n" + asking(*ends)
    value, low, high = values(cli("gate", write("s.yml", text.encode()), "--json")).values()
    assert value == pytest.approx(3 / 7)
    # Of 400 verdicts the judge passed a half.
    assert (low, high) == pytest.approx(lang_reiczigel(200, 400, 90, 10, 80, 20))
    assert low < 3 / 7 < high


def refuse() -> Any:
    raise NotFoundError("there is no desk", "")


SIZES = ("0", "1e-320", "0.4", "1", "7", "33", "40", "1000000", "1e15")
# A composite needs weights, and a question a run: these entries have neither.
EVERY = [one for one in CALIBRATION_SPANS if one != COMPOSITE and one not in ASKED]


@pytest.mark.slow
def test_any_counts_give_numbers_or_reasons(write: Write) -> None:
    dice, stopped = random.Random(3), 0  # noqa: S311 - dice, not secrets
    for _ in range(60):
        tp, fn, tn, fp, n = (dice.choice(SIZES) for _ in range(5))
        write("labels.jsonl", PAIRS if dice.random() < 0.5 else b"")
        text = FILE.format(f"{{ tp: {tp}, fn: {fn}, tn: {tn}, fp: {fp} }}")
        text += f"    observed_positive_rate: {dice.choice(['0', '1e-320', '0.5', '1'])}\n"
        text += f"    observed_n: {'1' if float(n) < 1 else n}\n    expect:\n"
        text += "".join(most(one, 0.5) for one in EVERY)
        (only,) = run_suite(str(write("s.yml", text.encode())), refuse).entries
        stopped += bool(only.error)
        for found in only.findings:
            value = found.reading.value
            assert isinstance(value, int | float) is not bool(found.reading.skip) or value == 0.0
            assert not isinstance(value, float) or math.isfinite(value), (found, text)
    assert stopped < 20


def test_any_weights_give_numbers_or_reasons(cli: Cli, write: Write) -> None:
    for weights in ((1e-9, 1.0), (3.0, 1e15), (0.0, 1e-9), (1e15, 1e15)):
        sides = (("pass", True), ("fail", False), ("pass", False), ("fail", True))
        lines = [
            rowed(weight, side, correct=correct) for weight in weights for side, correct in sides
        ]
        write("labels.jsonl", "".join(lines).encode())
        text = "calibration:\n  - name: n\n    labels: labels.jsonl\n    expect:\n"
        left_out = {"hon", "cor", "com", "que"}
        text += "".join(most(one, 0.5) for one in EVERY if one[:3] not in left_out)
        for value in values(cli("gate", write("s.yml", text.encode()), "--json")).values():
            assert value is None or math.isfinite(value)


@pytest.mark.slow
def test_a_damaged_suite_is_read_or_refused(write: Write, tmp_path: Path) -> None:
    write("labels.jsonl", PAIRS)
    text = FILE.format("{ tp: 25.2, fn: 1.8, tn: 8.2, fp: 4.8 }") + OBSERVED
    text += "    observed_n: 40\n    expect:\n"
    text += "".join(most(one, 0.5) for one in ("brier", "honest_rate_high", "kappa_low"))
    whole = (text + text.removeprefix("calibration:\n").replace("labels:", "run:")).encode()
    for broken in damaged(whole, 300):
        path = write("s.yml", broken)
        with suppress(SuiteError):
            found = run_suite(str(path), refuse)
            assert all(str(error).startswith(str(tmp_path)) for error in found.errors)
