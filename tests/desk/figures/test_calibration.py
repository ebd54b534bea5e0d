"""What the calibration page is made of, against hand counts, files and a whole public run."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.desk.labels.transfer import import_labels
from reviewdesk.domain.gates.expect import GateStatus
from reviewdesk.domain.labels.sampling import upper_bound
from reviewdesk.domain.records import Design, Event, Run, Truth
from reviewdesk.domain.stats.calibration_page import drill
from reviewdesk.reports import Source
from reviewdesk.reports.labels.reader import read_labels
from tests.helpers import (
    SHARED,
    figures_of,
    label_row,
    load,
    numbered,
    open_desk,
    report,
    traced,
    verdict,
)

DATA = SHARED / "data"
NAMES = ("llmbar-rating-natural", "llmbar-cot-natural", "triviaqa-gpt4t")
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the shared public data are not here")

BODIES = (
    verdict("a", 0.9, 0.8, 0.7),
    verdict("b", 0.9, 0.2, 0.8, flagged=True),
    verdict("c", 0.1, None, 0.3),
    verdict("d", None, None, decision="error"),
    verdict("e", 0.7, 0.9, 0.8),
)


def opened(folder: Path, *bodies: dict[str, Any], name: str = "desk") -> tuple[Desk, Run]:
    desk = open_desk(folder / f"{name}.db")
    return desk, load(desk, report(*(bodies or BODIES)))


def say(desk: Desk, run: Run, blind: bool | None = None, **truths: str) -> None:
    for name, truth in truths.items():
        desk.label(desk.find(run, name), Truth(truth), blind=blind)


def test_a_page_by_hand(tmp_path: Path) -> None:
    desk, run = opened(tmp_path)
    say(desk, run, blind=True, a="pass", b="fail")
    say(desk, run, blind=False, c="pass")
    say(desk, run, d="pass", e="unsure")
    page = calibration_page(desk, run)
    found = page.calibration
    # a passed rightly, b wrongly, c failed wrongly; d has no decision and e no answer.
    line = found.labelled
    assert (line.n, line.tp, line.fn, line.tn, line.fp) == (3, 1, 1, 0, 1)
    assert (found.unsure, found.no_verdict, page.labelled) == (1, 1, 5)
    # Scores .8, .633333 and .2: confidences .8, .633333 and .8 against right, wrong, wrong.
    assert line.gap == pytest.approx((0.8 + 0.633333 + 0.8 - 1) / 3)
    assert (page.split.blind.n, page.split.open.n, page.split.unsaid) == (2, 1, 0)
    assert page.split.blind.accuracy == 0.5
    assert page.split.open.accuracy == 0.0
    assert page.alone.metrics.gap == pytest.approx(line.gap)
    # Every stratum is labelled to its end: flagged/pass b; rest/pass a and e; rest/fail c;
    # flagged/none d, an error, whose label makes no row.
    assert {s.name: (s.size, s.prefix, s.counted, s.weight) for s in page.strata} == {
        "flagged/pass": (1, 1, 1, 1.0), "rest/pass": (2, 2, 1, 2.0), "rest/fail": (1, 1, 1, 1.0),
        "flagged/none": (1, 1, 1, None),
    }  # fmt: skip
    assert (found.design, page.missing) == (Design.WEIGHTED, ())
    assert (page.audit.planned, page.audit.done) == (3, 3)
    # Of the audit a and c count, and c was wrong.
    assert (page.audit.counted, page.audit.errors) == (2, 1)
    assert page.audit.bound == upper_bound(1, 2)
    assert page.gates[0].value == found.headline.ece


def test_jurors_by_hand(tmp_path: Path) -> None:
    desk, run = opened(tmp_path)
    say(desk, run, a="pass", b="fail", c="pass", d="pass", e="unsure")
    found = calibration_page(desk, run).jurors
    assert found is not None
    # j1 passes a and b, fails c; j2 passes a, fails b against the panel; j3 as j1. On c j2 failed,
    # on d j1 and j2 did; e has no answer and is not counted.
    names = ("tp", "fn", "tn", "fp", "failed", "dissents", "dissents_right", "trimmed")
    # The mean decides, so that nobody is trimmed.
    assert {one.name: [getattr(one, name) for name in names] for one in found} == {
        "j1": [1, 1, 0, 1, 1, 0, 0, 0],
        "j2": [1, 0, 1, 0, 2, 1, 1, 0],
        "j3": [1, 1, 0, 1, 0, 0, 0, 0],
    }


def test_jurors_vote_by_the_rule_that_a_person_filled_in(desk: Desk) -> None:
    seats = [{"id": "low", "score": 0.3}, {"id": "high", "score": 0.5}]
    body = verdict("a", jurors=seats, decision="pass")
    run = load(desk, report(body, defaults=None), threshold=0.4)
    say(desk, run, a="pass")
    found = calibration_page(desk, run).jurors
    assert found is not None
    assert [(one.name, one.tp, one.fn) for one in found] == [("low", 0, 1), ("high", 1, 0)]


def test_no_ballot_is_read_unasked(tmp_path: Path) -> None:
    desk, run = opened(tmp_path)
    say(desk, run, a="pass")
    asked = statements(desk, run, jurors=True)
    unasked = statements(desk, run, jurors=False)
    assert calibration_page(desk, run, jurors=False).jurors is None
    assert any("bodies" in text for text in asked)
    assert not any("bodies" in text for text in unasked)


def statements(desk: Desk, run: Run, *, jurors: bool) -> list[str]:
    with traced(desk.conn) as seen:
        calibration_page(desk, run, jurors=jurors)
    return seen


def test_more_labels_take_no_more_statements(desk: Desk) -> None:
    run = load(desk, numbered(40))
    counted = []
    for upto in (2, 40):
        rows = [label_row(f"v{i}", "ann", Truth.PASS) for i in range(upto)]
        import_labels(desk, run, rows)
        counted.append(len(statements(desk, run, jurors=True)))
    assert counted[1] <= counted[0]


def test_a_page_is_read_in_one_state_of_the_desk(tmp_path: Path) -> None:
    desk, run = opened(tmp_path)
    say(desk, run, a="pass")
    other = open_desk(tmp_path / "desk.db", "ben")
    wrote: list[Event] = []

    def meanwhile(text: str) -> None:
        if "bodies" in text and not wrote:
            wrote.append(other.label(other.find(run, "e"), Truth.PASS))

    desk.conn.set_trace_callback(meanwhile)
    page = calibration_page(desk, run)
    desk.conn.set_trace_callback(None)
    assert wrote
    assert page.jurors is not None
    assert page.calibration.labelled.n == page.jurors[0].n == 1
    assert not desk.conn.in_transaction
    assert calibration_page(desk, run).calibration.labelled.n == 2


def test_a_verdict_is_blind_where_all_its_labels_are(tmp_path: Path) -> None:
    desk, run = opened(tmp_path)
    ben = open_desk(tmp_path / "desk.db", "ben")
    say(desk, run, blind=True, a="pass", b="fail", c="fail", e="pass")
    # Ben saw b's panel; his word on c does not say; his first on e is replaced by a blind one.
    say(ben, run, blind=False, b="fail", e="pass")
    say(ben, run, c="fail")
    say(ben, run, blind=True, e="pass")
    split = calibration_page(desk, run).split
    assert (split.blind.n, split.open.n, split.unsaid) == (2, 2, 0)
    desk.undo()
    # Ann's label on e is gone; ben's blind one stands.
    assert calibration_page(desk, run).split.blind.n == 2


def test_an_empty_page(tmp_path: Path) -> None:
    desk, run = opened(tmp_path)
    page = calibration_page(desk, run)
    assert page.calibration.design is Design.NONE
    assert page.jurors == ()
    assert {gate.status for gate in page.gates} == {GateStatus.SKIP}
    assert [text.split()[0] for text in page.missing] == ["flagged/pass", "rest/pass", "rest/fail"]


def test_every_drill_lists_what_its_title_counts(tmp_path: Path) -> None:
    desk, run = opened(tmp_path)
    say(desk, run, a="pass", b="fail", c="pass", d="pass", e="unsure")
    page = calibration_page(desk, run)
    found = {one.filter: one.count for one in drill(page)}
    assert found == {
        "decision:pass label:pass": 1, "wrong:pass": 1, "decision:fail label:fail": 0,
        "wrong:fail": 1, "label:unsure": 1, "label:disputed": 0,
    }  # fmt: skip
    for text, count in found.items():
        assert len(desk.queue(run, text)) == count


# Against the files


def truths(name: str) -> dict[str, str]:
    lines = (DATA / f"{name}.truth.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: row["truth"] for row in map(json.loads, lines)}


def bodies_of(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        (DATA / f"{name}.report.json").read_text(encoding="utf-8")
    )["verdicts"]
    return found


def by_hand(name: str) -> dict[str, Any]:
    """The metrics of a run, from the two files alone, by the definitions of the document."""
    truth = truths(name)
    judged = [v for v in bodies_of(name) if v["decision"] in ("pass", "fail")]
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
        "n": len(kept), "tp": tp, "fn": fn, "tn": tn, "fp": fp, "ece": ece,
        # Of a score read as P(pass), whatever was decided: the same as that of the support.
        "brier": float(((score - good) ** 2).mean()),
        "gap": float(confidence.mean() - right.mean()),
        "accuracy": float(right.mean()),
        "observed_positive_rate": float(every.mean()),
        "corrected_rate": min(1.0, max(0.0, (every.mean() + specificity - 1) / j)),
    }  # fmt: skip


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("name", NAMES)
def test_a_census_gives_the_numbers_of_the_files(name: str, desk: Desk) -> None:
    run = desk.load(Source.from_path(DATA / f"{name}.report.json")).run
    done = import_labels(desk, run, read_labels(Source.from_path(DATA / f"{name}.truth.jsonl")))
    assert done.unknown == 0
    assert desk.verify().ok
    found, expected = figures_of(desk, run), by_hand(name)
    assert found.design is Design.CENSUS
    assert found.population == found.labelled == found.headline
    got = {key: getattr(found.headline, key) for key in expected}
    assert got == pytest.approx(expected, abs=1e-9)
    assert found.headline.ess == pytest.approx(expected["n"], abs=1e-9)
