"""Scores of a juror that leaves 0..1 anywhere in a file are raw throughout it."""

import pytest

from tests.reports.inspectkit import archive, bodies, log, members, panel, sample, score


@pytest.mark.parametrize("packed", [False, True])
def test_a_1_of_a_scorer_with_scores_beyond_1_is_no_full_mark(packed: bool) -> None:
    samples = [
        sample("a", {"own": score(1), "parts": score({"x": 1, "y": 1}), "panel": panel(1, 1, 0)}),
        sample("b", {"own": score(4), "parts": score({"x": "5", "y": 0}), "panel": panel(3, 2, 3)}),
    ]
    document = log(*samples)
    # the panel is a verdict of its own, before that of the other two
    found = bodies(archive(members(document)) if packed else document)[:2]
    jurors = [juror for body in found for juror in body["jurors"]]
    told = {one["id"]: (one.get("score"), one.get("raw_score")) for one in jurors}
    assert told["own"] == (None, 1)
    assert told["parts.x"] == (None, 1)
    assert told["parts.y"] == (1, None)
    assert [told[name] for name in told if name.startswith("panel")] == [(None, 1), (None, 0)]
    # (1 - 1) / 4: with the scale given nothing is left open.
    given = {one["id"]: one.get("score") for one in bodies(document, scale=(1.0, 5.0))[1]["jurors"]}
    assert given["own"] == 0
