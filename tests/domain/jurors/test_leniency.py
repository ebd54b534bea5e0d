"""Leniency with one's own family, through the draw and by verdict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reviewdesk.domain.jurors.accuracy import Counter, LabelledPanel
from reviewdesk.domain.jurors.leniency import LeniencyCounter, paired_rates
from reviewdesk.domain.verdict import Decision, Generator, Policy
from tests.domain.bodies import body, juror

CLAUDE, GPT, HOUSE = "claude-opus-4-7", "gpt-4o", "house-model"


def panel(deserved: bool, *said: tuple[str, bool | None]) -> LabelledPanel:
    seats: list[Any] = [
        juror(f"j{i}", model=model, **{"pass": vote}) for i, (model, vote) in enumerate(said)
    ]
    return LabelledPanel(body(*seats), Policy(), Decision.PASS, deserved)


def leniency(times: int, panel_: LabelledPanel, model: str | None = CLAUDE) -> LeniencyCounter:
    counter = LeniencyCounter()
    for rank in range(times):
        counter.add(panel_, Generator(model), Counter().add(panel_), (0, rank), counts=True)
    return counter


def test_leniency_by_family() -> None:
    said = panel(False, (CLAUDE, True), (GPT, False), (HOUSE, True), (GPT, None))
    found = leniency(10, said).leniency({0: 40})
    assert (found.own.k, found.own.n, found.own.share) == (10, 10, 1)
    assert (found.others.k, found.others.n, found.others.share) == (0, 10, 0)
    assert found.unknown == 10
    # Neither side varies, so both have Wilson's ends at the ten verdicts, uncorrelated:
    # 1 - √2·(z²/(10 + z²)) = 0.6075.
    assert found.difference.diff == 1
    assert found.difference.low == pytest.approx(1 - 2**0.5 * 3.841459 / 13.841459, abs=1e-6)
    assert found.reason is None
    # Were these ten all there is, nothing would be left to guess.
    whole = leniency(10, said).leniency({0: 10}).difference
    assert (whole.low, whole.diff, whole.high) == (1, 1, 1)


def test_leniency_wants_ten_votes_on_either_side() -> None:
    said = panel(False, (CLAUDE, True), (GPT, False), (GPT, True))
    found = leniency(9, said).leniency({0: 9})
    assert (found.own.n, found.others.n) == (9, 18)
    assert (found.difference.diff, found.difference.low) == (None, None)
    assert found.reason is not None
    assert "under 10" in found.reason


def test_what_should_pass_and_whose_maker_is_unknown_say_nothing_of_leniency() -> None:
    for counter in (
        leniency(20, panel(True, (CLAUDE, True), (GPT, True))),
        leniency(20, panel(False, (CLAUDE, True), (GPT, True)), model=HOUSE),
        leniency(20, panel(False, (CLAUDE, True), (GPT, True)), model=None),
    ):
        found = counter.leniency({0: 20})
        assert (found.own.n, found.others.n, found.unknown) == (0, 0, 0)
        assert found.reason is not None


def test_a_stratum_without_labels_leaves_no_difference() -> None:
    found = leniency(10, panel(False, (CLAUDE, True), (GPT, False))).leniency({0: 10, 3: 50})
    assert found.difference.diff is None
    assert found.own.n == 10
    assert found.reason is not None
    assert "stratum" in found.reason


def test_labels_stand_for_the_verdicts_of_their_stratum() -> None:
    counter = LeniencyCounter()
    # 10 flagged, where both pass everything; 12 of 120 others, where only its own family does.
    for stratum, times, far in ((0, 10, True), (3, 12, False)):
        said = panel(False, (CLAUDE, True), (GPT, far))
        for rank in range(times):
            votes = Counter().add(said)
            counter.add(said, Generator(CLAUDE), votes, (stratum, rank), counts=True)
    found = counter.leniency({0: 10, 3: 120})
    # Each label once says 1 less 10/22; the run is 1 less 10/130.
    assert found.difference.diff == pytest.approx(1 - 10 / 130)


def test_the_paired_interval_covers() -> None:
    """Two jurors a side who err together on hard verdicts; the queue's labels."""
    rng, held, ends = np.random.default_rng(6), 0, 0
    for _ in range(200):
        flagged = np.arange(300) < 60
        hard = np.where(flagged, 0.5, 0.15) * rng.beta(2, 2, 300) * 2
        votes_ = rng.random((4, 300)) < hard
        fails = rng.random(300) < 0.4
        rows = np.where(
            fails, [votes_[:2].sum(0), 2 + 0 * hard, votes_[2:].sum(0), 2 + 0 * hard], 0
        ).T.astype(int)
        truth = (rows[:, 0].sum() - rows[:, 2].sum()) / rows[:, 1].sum()
        drawn = [tuple(row) for row in rows[60:][:60].tolist()]
        strata = [(60, [tuple(row) for row in rows[:60].tolist()]), (240, drawn)]
        found = paired_rates(strata)[2]
        assert found.low is not None
        assert found.high is not None
        held += found.low <= truth <= found.high
        ends += found.low > truth
    # 95% of 200, less three standard errors.
    assert held >= 181
    assert ends <= 12
