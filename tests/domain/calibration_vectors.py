"""The vector functions of calibration's statistics, by name."""

from collections.abc import Callable, Mapping
from typing import Any

from reviewdesk.domain.stats.calibration import Rows
from reviewdesk.domain.stats.correction import lang_reiczigel
from reviewdesk.domain.stats.figures import Part
from reviewdesk.domain.stats.reliability import (
    auroc,
    log_loss,
    null_ece,
    reliability_bins,
    spiegelhalter,
)
from reviewdesk.domain.stats.stratified import stratified_rate

Input = Mapping[str, Any]


def _rows(given: Input) -> Rows:
    correct = given.get("correct", [False] * len(given["confidence"]))
    return Rows.of(given["confidence"], correct, given.get("weight"))


def _log_loss(given: Input) -> object:
    found = log_loss(_rows(given))
    return None if found is None else found.value


def _bins(given: Input) -> object:
    return [
        {
            "bin": found.index,
            "n": found.n,
            "mean_confidence": found.mean_confidence,
            "accuracy": found.accuracy,
        }
        for found in reliability_bins(_rows(given))
    ]


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


CALIBRATION: dict[str, Callable[[Input], object]] = {
    "log_loss": _log_loss,
    "auroc": lambda given: auroc(_rows(given)),
    "reliability_bins": _bins,
    "spiegelhalter": _spiegelhalter,
    "ece_expected_if_calibrated": _expected_ece,
    "lang_reiczigel": _lang_reiczigel,
    "stratified_rate": _stratified,
}
