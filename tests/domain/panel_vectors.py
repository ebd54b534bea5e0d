"""The vector functions of a run's agreement, its jurors and its calibration, by name."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from msgspec.structs import asdict

from reviewdesk.domain.jurors.drift import cusum
from reviewdesk.domain.jury.scores import one_panel, only
from reviewdesk.domain.stats.alpha import (
    AlphaState,
    alpha_interval,
    alpha_nominal,
    alpha_ordinal,
    contributions,
    interval_ci,
)
from reviewdesk.domain.stats.calibration import Rows
from reviewdesk.domain.stats.correction import lang_reiczigel
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

Input = Mapping[str, Any]
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


def _alarm(given: Mapping[str, Any]) -> dict[str, Any]:
    z = np.array([math.nan if one is None else one for one in given["z"]], np.float64)[:, None]
    row = int(cusum(z, given.get("k", 0.5), given.get("h", 5.0))[1][0])
    return {"alarm_at": None if row < 0 else row}


PANEL: dict[str, Callable[[Input], object]] = {
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
}


def _rows(given: Input) -> Rows:
    correct = given.get("correct", [False] * len(given["confidence"]))
    return Rows.of(given["confidence"], correct, given.get("weight"))


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


CALIBRATION: dict[str, Callable[[Input], object]] = {
    "log_loss": _log_loss,
    "auroc": lambda given: auroc(_rows(given)),
    "reliability_bins": _bins,
    "spiegelhalter": _spiegelhalter,
    "ece_expected_if_calibrated": _expected_ece,
    "lang_reiczigel": _lang_reiczigel,
    "stratified_rate": _stratified,
}
