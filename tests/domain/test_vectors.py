"""Every case of a file of test vectors, run through one adapter (``--vectors FILE``)."""

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.domain.jury.rules import quorum_met, trim_count
from reviewdesk.domain.jury.scores import (
    band,
    closeness,
    trim,
    trimmed_mean,
    verdict_agreement,
    votes_agreement,
    weighted_average,
)
from reviewdesk.domain.labels.label_columns import LabelColumns
from reviewdesk.domain.labels.sampling import LabelledRow
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.calibration import (
    Rows,
    accuracy,
    brier,
    ece,
    effective_sample_size,
    measure,
)
from reviewdesk.domain.stats.correction import rate_or_zero, rogan_gladen, wald
from reviewdesk.domain.verdict import Decision, Rounding
from tests.domain.bodies import values
from tests.domain.panel_vectors import CALIBRATION, PANEL
from tests.helpers import placed

HERE = Path(__file__).parent
OWN = (HERE / "vectors.json", HERE / "stats" / "calibration_vectors.json")
TOLERANCE = 1e-9

RETIRED = {"corp", "murphy", "isotonic", "temperature", "platt"}
"""Functions of older files of vectors that the product has no more."""

Input = Mapping[str, Any]


def _rounding(given: Input) -> Rounding:
    word = given.get("rounding", "down")
    return Rounding.NEAREST if word == "nearest_even" else Rounding(word)


def _present(values_: list[float | None]) -> list[float]:
    return [value for value in values_ if value is not None]


def _verdict_agreement(given: Input) -> object:
    found = verdict_agreement(_present(given["scores"]), [])
    return {"raw": found.raw, "clamped": found.clamped, "band": found.band, "n": found.n}


def _trimmed_mean(given: Input) -> object:
    rule = (given["scores"], given["fraction"], _rounding(given))
    return {"value": trimmed_mean(*rule), "trim_each_side": trim(*rule).per_side}


def _median(given: Input) -> object:
    scores = given["scores"]
    return values(scores, [None] * len(scores), 0.0).median


def _weighted_average(given: Input) -> object:
    scores = given["scores"]
    if isinstance(scores, list):
        return weighted_average(scores, given.get("weights") or [None] * len(scores))
    weights = given.get("weights") or {}
    return weighted_average(list(scores.values()), [weights.get(name) for name in scores])


def _rows(given: Input) -> Rows:
    return Rows.of(given["confidence"], given["correct"], given.get("weight"))


def _label_row(given: Input) -> object:
    decision = Decision.PASS if given["verdict_pass"] else Decision.FAIL
    truth = Truth.PASS if given["human_pass"] else Truth.FAIL
    row = placed(0, 0, truth, decision=decision, stated_score=given["score"])
    columns = LabelColumns.of_rows([row])
    [sure] = columns.confidences("support", scores_stated=True)
    return {"confidence": sure, "correct": bool(columns.right[0])}


def _judge(given: Input) -> tuple[float, float]:
    tp, fn, tn, fp = (given[name] for name in ("tp", "fn", "tn", "fp"))
    return rate_or_zero(tp, tp + fn), rate_or_zero(tn, tn + fp)


def _rogan_gladen(given: Input) -> object:
    sensitivity, specificity = _judge(given)
    corrected, _ = rogan_gladen(given["observed"], sensitivity, specificity)
    return {"sensitivity": sensitivity, "specificity": specificity, "corrected": corrected}


def _rogan_gladen_wald(given: Input) -> object:
    n = sum(given[name] for name in ("tp", "fn", "tn", "fp"))
    return list(wald(given["observed"], *_judge(given), n))


def _audit_weights(given: Input) -> object:
    """A labelled row takes the next place of its stratum's draw, wherever it stands."""
    numbers = {name: h for h, name in enumerate(sorted(set(given["stratum"])))}
    sizes = {h: given["stratum"].count(name) for name, h in numbers.items()}
    drawn: list[LabelledRow] = []
    taken = dict.fromkeys(sizes, 0)
    for name, labelled in zip(given["stratum"], given["labelled"], strict=True):
        if labelled:
            h = numbers[name]
            drawn.append(placed(h, taken[h], Truth.PASS))
            taken[h] += 1
    weights = iter(LabelColumns.of_rows(drawn).weigh(sizes).weights)
    return [next(weights) if labelled else 0.0 for labelled in given["labelled"]]


def _weighted_rates(given: Input) -> object:
    human, verdict, weight = given["human"], given["verdict"], given["weight"]
    nothing = [0.0] * len(human)
    correct = [ours == theirs for ours, theirs in zip(verdict, human, strict=True)]
    found = measure(Rows.of(nothing, correct, weight, verdict), None)
    return {
        "accuracy": found.accuracy, "sensitivity": found.sensitivity,
        "specificity": found.specificity, "prevalence": accuracy(Rows.of(nothing, human, weight)),
        "ess": found.ess,
    }  # fmt: skip


ADAPTER: dict[str, Callable[[Input], object]] = {
    "verdict_agreement": _verdict_agreement,
    "votes_agreement": lambda given: votes_agreement(
        [bool(vote) for vote in _present(given["votes"])]
    ),
    "adr_agreement": lambda given: closeness(_present(given["scores"])),
    "band": lambda given: band(given["value"]),
    "quorum_met": lambda given: (
        given["n"] > 0 and quorum_met(given["passes"], given["n"], given["quorum"])
    ),
    "trim_count": lambda given: trim_count(given["n"], given["fraction"], _rounding(given)),
    "trimmed_mean": _trimmed_mean, "median": _median, "weighted_average": _weighted_average,
    "ece": lambda given: ece(_rows(given)),
    "brier": lambda given: brier(_rows(given)),
    "ece_weighted": lambda given: ece(_rows(given)),
    "brier_weighted": lambda given: brier(_rows(given)),
    "label_row": _label_row,
    "rogan_gladen": _rogan_gladen,
    "rogan_gladen_rate": lambda given: rogan_gladen(
        given["observed"], given["sensitivity"], given["specificity"]
    )[0],
    "rogan_gladen_wald": _rogan_gladen_wald,
    "audit_weights": _audit_weights,
    "effective_sample_size": lambda given: effective_sample_size(given["weights"]),
    "weighted_rates": _weighted_rates, **CALIBRATION, **PANEL,
}  # fmt: skip


def differs(found: Any, expected: Any, tolerance: float) -> bool:
    """Whether a result is not the expected one; ``None`` is undefined and equals only itself."""
    if isinstance(expected, dict):
        return (
            not isinstance(found, dict)
            or found.keys() != expected.keys()
            or any(differs(found[key], value, tolerance) for key, value in expected.items())
        )
    if isinstance(expected, list):
        return (
            not isinstance(found, list)
            or len(found) != len(expected)
            or any(differs(*pair, tolerance) for pair in zip(found, expected, strict=True))
        )
    if expected is None or isinstance(expected, str | bool):
        return bool(found != expected) or isinstance(found, bool) != isinstance(expected, bool)
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        return True
    return bool(abs(found - expected) > tolerance)


def run_case(case: Mapping[str, Any]) -> None:
    function = ADAPTER.get(case["fn"])
    if function is None:
        if case.get("tier") == "optional" or case["fn"] in RETIRED:
            pytest.skip(f"{case['fn']} is optional or retired")
        pytest.fail(f"no function for {case['fn']}")
    found = function(case["input"])
    tolerance = case.get("tol")
    if differs(found, case["expected"], TOLERANCE if tolerance is None else tolerance):
        pytest.fail(f"{case['fn']}: found {found}, expected {case['expected']}")


def cases_of(*paths: Path) -> list[dict[str, Any]]:
    return [case for path in paths for case in json.loads(path.read_text("utf-8"))["cases"]]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "vector" in metafunc.fixturenames:
        path = metafunc.config.getoption("vectors")
        cases = cases_of(*([path] if path else OWN))
        names = [f"{case['fn']}-{case.get('id', place)}" for place, case in enumerate(cases)]
        metafunc.parametrize("vector", cases, ids=names)


def test_vector(vector: dict[str, Any]) -> None:
    run_case(vector)


def test_the_projects_own_vectors_reach_every_function() -> None:
    assert {case["fn"] for case in cases_of(*OWN)} == set(ADAPTER)


@pytest.mark.parametrize(
    "case",
    [
        {"fn": "votes_agreement", "input": {"votes": [1, 1]}, "expected": 0.999999998},
        {"fn": "votes_agreement", "input": {"votes": [1]}, "expected": 0.0},
        {"fn": "votes_agreement", "input": {"votes": [1, 1]}, "expected": None},
        {"fn": "quorum_met", "input": {"passes": 1, "n": 1, "quorum": 0.5}, "expected": 1},
        {"fn": "trim_count", "input": {"n": 5, "fraction": 0.2}, "expected": True},
        {"fn": "no_such", "input": {}, "expected": None},
        {"fn": "no_such", "input": {}, "expected": None, "tier": "core"},
    ],
)
def test_a_wrong_or_unknown_case_fails(case: dict[str, Any]) -> None:
    with pytest.raises(pytest.fail.Exception):
        run_case(case)


def test_a_cases_own_tolerance_counts_and_an_unknown_optional_one_is_skipped() -> None:
    # Two equal votes agree fully: 2 * 1 - 1 = 1, which is 0.25 off.
    case = {"fn": "votes_agreement", "input": {"votes": [1, 1]}, "expected": 0.75, "tol": 0.25}
    run_case(case)
    with pytest.raises(pytest.skip.Exception):
        run_case({"fn": "no_such", "input": {}, "expected": None, "tier": "optional"})
