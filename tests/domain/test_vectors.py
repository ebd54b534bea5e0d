"""Every case of a file of test vectors, run through one adapter (``--vectors FILE``)."""

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import asdict

from reviewdesk.domain.jurors.drift import cusum
from reviewdesk.domain.jury.rules import quorum_met, trim_count
from reviewdesk.domain.jury.scores import (
    band,
    closeness,
    median,
    one_panel,
    only,
    trim,
    trimmed_mean,
    verdict_agreement,
    votes_agreement,
    weighted_average,
)
from reviewdesk.domain.labels.label_columns import LabelColumns
from reviewdesk.domain.labels.sampling import LabelledRow
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.alpha import (
    AlphaState,
    alpha_interval,
    alpha_nominal,
    alpha_ordinal,
    contributions,
    interval_ci,
)
from reviewdesk.domain.stats.calibration import (
    Rows,
    accuracy,
    brier,
    ece,
    effective_sample_size,
    measure,
)
from reviewdesk.domain.stats.correction import lang_reiczigel, rate_or_zero, rogan_gladen, wald
from reviewdesk.domain.stats.figures import Part
from reviewdesk.domain.stats.kappa import cohen_kappa, kappa_weights
from reviewdesk.domain.stats.rates import rate_difference, stratified_rate, wilson
from reviewdesk.domain.stats.reliability import (
    auroc,
    log_loss,
    null_ece,
    reliability_bins,
    spiegelhalter,
)
from reviewdesk.domain.verdict import Decision, Rounding
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


def _weighted_average(given: Input) -> object:
    scores = given["scores"]
    if isinstance(scores, list):
        return weighted_average(scores, given.get("weights") or [None] * len(scores))
    weights = given.get("weights") or {}
    return weighted_average(list(scores.values()), [weights.get(name) for name in scores])


def _rows(given: Input) -> Rows:
    correct = given.get("correct", [False] * len(given["confidence"]))
    return Rows.of(given["confidence"], correct, given.get("weight"))


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


Units = list[list[float | None]]


def _units(rows: list[list[Any]]) -> Units:
    """Rows of one length; a row that ends early misses its last jurors."""
    seats = max(map(len, rows), default=0)
    return [[*row, *[None] * (seats - len(row))] for row in rows]


def _codes(rows: list[list[Any]]) -> Units:
    """Labels of any kind as numbers, alike where the labels are."""
    known: dict[Any, float] = {}
    return _units(
        [
            [None if value is None else known.setdefault(value, float(len(known))) for value in row]
            for row in rows
        ]
    )


def _merged(given: Input) -> float | None:
    state = AlphaState()
    for part in given["partitions"]:
        state = state.merge(AlphaState.of(_units(part)))
    return state.alpha


def _contributions(given: Input) -> object:
    found = contributions(_units(given["units"]))
    return found and {
        "contribution": [None if math.isnan(one) else one for one in found.contribution.tolist()],
        "weight": found.weight.tolist(),
        "run_alpha": found.alpha,
    }


def _interval(given: Input) -> object:
    found = interval_ci(_units(given["units"]), given.get("level", 0.95))
    return found and list(found)


def _discrete(given: Input) -> float | None:
    """r_WG against answers spread evenly over the levels."""
    levels = given["levels"]
    variance = only(one_panel(given["scores"]).variance)
    return None if variance is None else 1 - variance / ((levels + 1) / (12 * (levels - 1)))


def _difference(given: Input) -> object:
    return asdict(rate_difference(*(given[name] for name in ("k1", "n1", "k2", "n2"))))


def _alarm(given: Input) -> dict[str, Any]:
    z = np.array([math.nan if one is None else one for one in given["z"]], np.float64)[:, None]
    row = int(cusum(z, given.get("k", 0.5), given.get("h", 5.0))[1][0])
    return {"alarm_at": None if row < 0 else row}


def _log_loss(given: Input) -> object:
    found = log_loss(_rows(given))
    return None if found is None else found.value


def _bins(given: Input) -> object:
    return [
        {
            "bin": found.index, "n": found.n, "mean_confidence": found.mean_confidence,
            "accuracy": found.accuracy,
        }
        for found in reliability_bins(_rows(given))
    ]  # fmt: skip


def _spiegelhalter(given: Input) -> object:
    found = spiegelhalter(_rows(given))
    return {"z": found.z, "p": found.p}


def _expected_ece(given: Input) -> object:
    found = null_ece(_rows(given))
    return found.expected if found else 0.0


def _lang_reiczigel(given: Input) -> object:
    found = lang_reiczigel(*(given[key] for key in ("k", "n", "tp", "fn", "tn", "fp")))
    return None if found is None else list(found)


def _stratified(given: Input) -> object:
    found = stratified_rate([Part(one["N"], one["n"], one["k"]) for one in given["strata"]])
    return {"estimate": found.estimate, "low": found.low, "high": found.high}


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
    "trimmed_mean": _trimmed_mean, "weighted_average": _weighted_average,
    "median": lambda given: median(_present(given["scores"])),
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
    "weighted_rates": _weighted_rates,
    "alpha_nominal": lambda given: alpha_nominal(_codes(given["units"])),
    "alpha_ordinal": lambda given: alpha_ordinal(_units(given["units"])),
    "alpha_interval": lambda given: alpha_interval(_units(given["units"])),
    "alpha_interval_merge": _merged,
    "alpha_contributions": _contributions,
    "alpha_interval_ci": _interval,
    "verdict_agreement_discrete": _discrete,
    "wilson": lambda given: list(wilson(given["k"], given["n"])),
    "cohen_kappa": lambda given: cohen_kappa(given["human"], given["juror"]),
    "rate_difference": _difference,
    "kappa_weights": lambda given: kappa_weights(given["kappa"]),
    "cusum": _alarm,
    "log_loss": _log_loss,
    "auroc": lambda given: auroc(_rows(given)),
    "reliability_bins": _bins,
    "spiegelhalter": _spiegelhalter,
    "ece_expected_if_calibrated": _expected_ece,
    "lang_reiczigel": _lang_reiczigel,
    "stratified_rate": _stratified,
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
