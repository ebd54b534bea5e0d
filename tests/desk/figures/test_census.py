"""A whole public run labelled with its gold answers, against numbers computed beside the desk."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reviewdesk.desk.labels.transfer import import_labels
from reviewdesk.domain.records import Calibration, Design
from reviewdesk.reports import Source
from reviewdesk.reports.labels.reader import read_labels
from tests.helpers import SHARED, figures_of, open_desk

DATA = SHARED / "data"
NAMES = ("llmbar-rating-natural", "llmbar-cot-natural", "triviaqa-gpt4t")

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the shared public data are not here")


def by_hand(name: str) -> dict[str, Any]:
    """The metrics of a run, from the two files alone, by the definitions of the document."""
    body = json.loads((DATA / f"{name}.report.json").read_text(encoding="utf-8"))
    lines = (DATA / f"{name}.truth.jsonl").read_text(encoding="utf-8").splitlines()
    truth = {row["id"]: row["truth"] for row in map(json.loads, lines)}
    judged = [v for v in body["verdicts"] if v["decision"] in ("pass", "fail")]
    every = np.array([v["decision"] == "pass" for v in judged])
    kept = [v for v in judged if truth.get(v["id"]) in ("pass", "fail") and v["score"] is not None]
    passed = np.array([v["decision"] == "pass" for v in kept])
    good = np.array([truth[v["id"]] == "pass" for v in kept])
    score = np.array([v["score"] for v in kept])
    confidence = np.where(passed, score, 1 - score)
    right = passed == good
    bins = np.minimum((confidence * 10 + 1e-9).astype(int), 9)
    ece = sum(
        (bins == b).mean() * abs(confidence[bins == b].mean() - right[bins == b].mean())
        for b in range(10)
        if (bins == b).any()
    )
    tp, fn = int((passed & good).sum()), int((~passed & good).sum())
    tn, fp = int((~passed & ~good).sum()), int((passed & ~good).sum())
    sensitivity, specificity = tp / (tp + fn), tn / (tn + fp)
    j = sensitivity + specificity - 1
    return {
        "n": len(kept),
        "tp": tp,
        "fn": fn,
        "tn": tn,
        "fp": fp,
        "ece": ece,
        # Of a score read as P(pass), whatever was decided: the same as that of the support.
        "brier": float(((score - good) ** 2).mean()),
        "gap": float(confidence.mean() - right.mean()),
        "accuracy": float(right.mean()),
        "observed_positive_rate": float(every.mean()),
        "corrected_rate": min(1.0, max(0.0, (every.mean() + specificity - 1) / j)),
    }


def labelled(name: str, folder: Path) -> Calibration:
    desk = open_desk(folder / "desk.db")
    run = desk.load(Source.from_path(DATA / f"{name}.report.json")).run
    rows = read_labels(Source.from_path(DATA / f"{name}.truth.jsonl"))
    done = import_labels(desk, run, rows)
    assert done.unknown == 0
    found = figures_of(desk, run)
    assert desk.verify().ok
    desk.close()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_census_gives_the_numbers_of_the_files(name: str, tmp_path: Path) -> None:
    found, expected = labelled(name, tmp_path), by_hand(name)
    assert found.design is Design.CENSUS
    assert found.population == found.labelled == found.headline
    got = {key: getattr(found.headline, key) for key in expected}
    assert got == pytest.approx(expected, abs=1e-9)
    assert found.headline.ess == pytest.approx(expected["n"], abs=1e-9)
