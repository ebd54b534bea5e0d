"""The statistics of an archive's parts: merged in any way, they are those of the whole."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import reduce
from pathlib import Path
from pickle import dumps, loads
from random import Random
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import astuple

from reviewdesk.desk.archive.parts import part_stats
from reviewdesk.domain.run.stats import Stats
from reviewdesk.domain.whatif.policies import Variant
from tests.desk.archive.archivekit import lines, verdicts, write_parts

BODIES = verdicts(90)


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


def test_merged_parts_are_the_whole(parts: list[Stats], whole: Stats) -> None:
    assert whole.counts.verdicts == 90
    assert same(reduce(Stats.merge, parts), whole)


def test_the_order_of_merging_changes_nothing(parts: list[Stats], whole: Stats) -> None:
    a, b, c, d = parts
    assert same(a.merge(b.merge(c.merge(d))), a.merge(b).merge(c.merge(d)))
    for seed in range(5):
        assert same(reduce(Stats.merge, Random(seed).sample(parts, 4)), whole)  # noqa: S311
    assert same(Stats().merge(a), a)
    assert same(a.merge(Stats()), a)


def test_they_travel_and_are_kept_as_they_are(whole: Stats) -> None:
    assert loads(dumps(whole)) == whole  # noqa: S301
    assert Stats.from_json(whole.as_json()) == whole


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
