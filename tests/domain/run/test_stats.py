"""The statistics of an archive's parts and ids, and of runs beside earlier ones."""

import math
from dataclasses import fields, is_dataclass
from functools import reduce
from math import isnan, nan
from pathlib import Path
from pickle import dumps, loads
from random import Random
from typing import Any

import numpy as np
import pytest
from krippendorff import alpha as oracle
from msgspec import Struct, json
from msgspec.structs import astuple

from reviewdesk.desk.archive import PartSummary, Reading, summary
from reviewdesk.domain.jury.verdicts import verdicts_of
from reviewdesk.domain.labels.draw import repeated
from reviewdesk.domain.run.columns import score_units, vote_units
from reviewdesk.domain.run.details import RunMeasures, Undefined
from reviewdesk.domain.run.stats import Stats, run_measures
from reviewdesk.domain.run.volatility import (
    AgainstEarlier,
    EarlierRange,
    RunMean,
    UnanimityWatch,
    against_earlier,
)
from reviewdesk.domain.stats.alpha import AlphaState, NominalState
from reviewdesk.domain.whatif import Variant
from tests.desk.archive.archivekit import lines, verdicts, write_parts
from tests.domain.bodies import packed, panel, read
from tests.domain.run.test_packing import assessed

BODIES = verdicts(90)


def part_stats(address: str) -> Stats:
    found = summary(Reading(), address)
    assert isinstance(found, PartSummary)
    return found.stats


def flat(value: Any) -> list[Any]:
    """Every number and text of the statistics, in one order."""
    if isinstance(value, dict):
        return [one for key in sorted(value, key=repr) for one in (key, *flat(value[key]))]
    if isinstance(value, tuple | list):
        return [one for item in value for one in flat(item)]
    if isinstance(value, Struct):
        return flat(astuple(value))
    if is_dataclass(value):
        return flat([getattr(value, one.name) for one in fields(value)])
    return [value]


def same(one: Stats, other: Stats) -> bool:
    ours, theirs = flat(one), flat(other)
    return len(ours) == len(theirs) and all(
        a == b if isinstance(a, str | None) else a == pytest.approx(b, rel=1e-12, abs=1e-12)
        for a, b in zip(ours, theirs, strict=True)
    )


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Stats]:
    return [part_stats(path) for path in write_parts(tmp_path_factory.mktemp("p"), BODIES, 4)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Stats:
    path = tmp_path_factory.mktemp("w") / "whole.jsonl"
    path.write_bytes(lines(BODIES))
    return part_stats(str(path))


def test_parts_merge_to_the_whole_in_any_order(parts: list[Stats], whole: Stats) -> None:
    assert whole.counts.verdicts == 90
    assert same(reduce(Stats.merge, parts), whole)
    a, b, c, d = parts
    assert same(a.merge(b.merge(c.merge(d))), a.merge(b).merge(c.merge(d)))
    for seed in range(5):
        assert same(reduce(Stats.merge, Random(seed).sample(parts, 4)), whole)  # noqa: S311
    assert same(Stats().merge(a), a)
    assert same(a.merge(Stats()), a)


def test_they_travel_and_are_kept_as_they_are(whole: Stats) -> None:
    assert loads(dumps(whole)) == whole  # noqa: S301
    assert json.decode(json.encode(whole), type=Stats) == whole


def test_a_juror_of_one_part_is_left_out_over_all(tmp_path: Path) -> None:
    bodies = verdicts(40)
    for body in bodies[:20]:
        for juror in body["jurors"]:
            juror["id"] = f"early-{juror['id']}"
    paths = write_parts(tmp_path / "p", bodies, 2)
    (tmp_path / "w.jsonl").write_bytes(lines(bodies))
    merged = reduce(Stats.merge, map(part_stats, paths))
    kept = {one.variant: one for one in merged.policies}
    every = {one.variant: one for one in part_stats(str(tmp_path / "w.jsonl")).policies}
    assert Variant(dropped="early-j1") in kept
    assert kept == every


def test_the_confusion_is_that_of_the_labels_in_the_file(whole: Stats) -> None:
    cells = {"tp": 0, "fn": 0, "tn": 0, "fp": 0}
    for body in BODIES:
        if "human" in body:
            right = body["decision"] == body["human"]["label"]
            positive = body["decision"] == "pass"
            cells[("t" if right else "f") + ("p" if positive else "n")] += 1
    assert {name: getattr(whole.counts, name) for name in cells} == cells


Scores = list[list[float | None]]

TWELVE: Scores = [
    [0.9, 0.8, 0.7], [0.2, 0.3, None], [0.5, 0.5, 0.4], [0.9, None, 1.0], [0.1, 0.2, 0.1],
    [0.7, 0.3, 0.6], [0.8, 0.8, 0.8], [0.4, 0.6, 0.5], [1.0, 0.9, 0.9], [0.3, None, None],
    [0.6, 0.5, 0.7], [0.2, 0.1, 0.4],
]  # fmt: skip


def measured(scores: Scores, **more: Any) -> RunMeasures:
    found = packed(assessed(panel(*row, **more))[0] for row in scores)
    units, votes = score_units(found), NominalState.of(vote_units(found).T)
    state = AlphaState.of(units.T)
    return run_measures(found.names, found.quorums, lambda: [units], state, votes)


def test_the_alphas_are_those_of_the_public_package() -> None:
    found = measured(TWELVE).alphas
    seats = [*zip(*TWELVE, strict=True)]
    data = [[nan if s is None else s for s in seat] for seat in seats]
    votes = [[nan if s is None else float(s >= 0.5) for s in seat] for seat in seats]
    assert found.alpha == pytest.approx(oracle(data, level_of_measurement="interval"))
    assert found.alpha_votes == pytest.approx(oracle(votes, level_of_measurement="nominal"))
    assert found.reasons == {}
    assert found.alpha_low is not None
    assert found.alpha is not None
    assert found.alpha_high is not None
    assert found.alpha_low < found.alpha < found.alpha_high


def test_disagreement_is_the_sum_of_what_the_verdicts_add() -> None:
    found = verdicts_of([read(panel(*row)) for row in TWELVE])
    masses = found.mass.tolist()
    # .9 .8 .7: s² = .01, m = 3. .2 .3: s² = .005, m = 2. One score of three: none.
    assert masses[:2] == pytest.approx([0.03, 0.01])
    assert isnan(masses[9])
    assert measured(TWELVE).mass == pytest.approx(sum(mass for mass in masses if not isnan(mass)))
    assert found.range[0] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("scores", "undefined"),
    [
        ([], dict.fromkeys(("alpha", "alpha_low", "alpha_votes"), Undefined.NO_PAIRS)),
        ([[0.5], [0.7, None]], dict.fromkeys(("alpha", "alpha_ordinal"), Undefined.NO_PAIRS)),
        ([[0.5, 0.5]] * 12, {"alpha": Undefined.NO_VARIATION, "alpha_low": Undefined.NO_VARIATION}),
        (TWELVE[:9], {"alpha_low": Undefined.FEW_UNITS, "alpha_high": Undefined.FEW_UNITS}),
        ([[i / 20] * 3 for i in range(12)], {"alpha_low": Undefined.NO_DISAGREEMENT}),
        ([[0.9, 0.8], [0.7, 0.6]] * 6, {"alpha_votes": Undefined.NO_VARIATION}),
        # Without the one verdict that differs from the others, nothing varies.
        ([[0.5, 0.5]] * 11 + [[0.1, 0.2]], {"alpha_low": Undefined.ONE_UNIT}),
    ],
)
def test_what_is_undefined_says_why(scores: Scores, undefined: dict[str, Undefined]) -> None:
    found = measured(scores).alphas
    for name, why in undefined.items():
        assert getattr(found, name) is None
        assert found.reasons[name] is why
    # A figure has a reason or a value, never both and never neither.
    for name in ("alpha", "alpha_low", "alpha_high", "alpha_votes", "alpha_ordinal"):
        assert (getattr(found, name) is None) is (name in found.reasons)
    assert all(why.words for why in Undefined)


def test_where_nobody_disagrees_there_is_no_share() -> None:
    # Three times .1 has a mean that is not .1 to the last bit.
    assert measured([[0.1, 0.1, 0.1], [0.7, 0.7, 0.7]]).mass is None


def test_every_place_of_a_repeated_id_is_found() -> None:
    many = [f"v{at}" for at in range(500)]
    assert repeated([many, ["v7", "w", "v499"], [], ["v7"]]) == [{7, 499}, {0, 2}, set(), {0}]
    assert repeated([["v0"], ["v1"]]) == [set(), set()]
    assert repeated([[]]) == [set()]


CALM = [RunMean(100, 0.8, 16.0)] * 4


def test_what_is_expected_of_a_further_run() -> None:
    (found,) = against_earlier({"safety": [*CALM, RunMean(100, 0.7, 21.0)]})
    # s² = (4 * 16 + 21 + .25) / (5 * 99 + 1); the earlier means are equal, so φ is 1 with 3 degrees
    # of freedom, whose t at .975 is 3.18245.
    sd = math.sqrt(85.25 / 496 * (1 / 100 + 1 / 400))
    assert (found.before, found.now, found.runs, found.n) == (0.8, 0.7, 4, 100)
    assert found.low == pytest.approx(0.8 - 3.18245 * sd, abs=1e-6)
    assert found.high == pytest.approx(0.8 + 3.18245 * sd, abs=1e-6)
    assert found.holds
    assert not found.outside
    assert against_earlier({"safety": CALM[:3]}) == ()


def test_a_swing_is_one_that_the_others_do_not_share() -> None:
    low = RunMean(100, 0.3, 21.0)
    alone = against_earlier({"a": [*CALM, low], "b": [*CALM, CALM[0]]})
    together = against_earlier({"a": [*CALM, low], "b": [*CALM, low]})
    swing = AgainstEarlier(alone).swings
    assert swing is not None
    assert swing.name == "a"
    assert [one.outside for one in together] == [True, True]
    assert AgainstEarlier(together).swings is None
    # With one dimension there are no others that could hold.
    assert AgainstEarlier(against_earlier({"a": [*CALM, low]})).swings is None


@pytest.mark.parametrize(
    ("dimensions", "earlier", "own", "common"),
    [
        (3, 3, 0.0, 0.0), (4, 6, 0.04, 0.0), (12, 5, 0.03, 0.0), (4, 5, 0.0, 0.05),
        (3, 5, 0.03, 0.05),
    ],
)  # fmt: skip
def test_calm_series_are_flagged_in_at_most_one_in_twenty(
    dimensions: int, earlier: int, own: float, common: float
) -> None:
    """Runs vary by ``own`` for each dimension and by ``common`` for all; planted swings show."""
    draw = np.random.default_rng(11)
    false = found = 0
    for trial in range(120):
        planted = trial % 2
        together = draw.normal(0, common, earlier + 1)
        series = {}
        for at, base in enumerate(draw.uniform(0.6, 0.9, dimensions)):
            means = base + together + draw.normal(0, own, earlier + 1)
            means[-1] -= 0.4 if planted and not at else 0
            scores = draw.normal(means[:, None], 0.15, (earlier + 1, 80))
            series[str(at)] = [RunMean(80, x.mean(), ((x - x.mean()) ** 2).sum()) for x in scores]
        swing = AgainstEarlier(against_earlier(series)).swings
        false += not planted and swing is not None
        found += planted and swing is not None and swing.name == "0"
    assert false <= 0.07 * 60
    assert found >= 0.8 * 60


@pytest.mark.parametrize(
    ("now", "labels", "warns"), [(0.9, 3, True), (0.9, 20, False), (0.7, 0, False), (0.2, 0, False)]
)
def test_unanimity_warns_if_it_rose_without_accuracy(now: float, labels: int, warns: bool) -> None:
    share = EarlierRange("", 4, 100, 0.6, now, 0.5, 0.7, holds=False)
    assert UnanimityWatch(share, labels).warns is warns
