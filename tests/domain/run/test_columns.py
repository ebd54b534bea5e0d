"""Panels laid out as columns say what their verdicts say."""

import math
from typing import Any

from reviewdesk.domain.run.packing import DECISIONS, ROUNDINGS, STRATEGIES, seat_names
from reviewdesk.domain.verdict import Decision, Generator, Policy, Strategy, verdict_from_body
from tests.domain.bodies import columns

POLICY = Policy(threshold=0.5, quorum="2/3", strategy=Strategy.TRIMMED_MEAN)


def _row(key: int, *jurors: Any) -> Any:
    body: Any = {"id": f"v{key}", "case": {"test": "t"}, "jurors": list(jurors)}
    verdict = verdict_from_body(body, POLICY, Generator())
    return key, verdict


def test_every_fact_of_a_panel_has_its_column() -> None:
    found = columns(
        [
            _row(
                7,
                {"id": "a", "score": 0.9},
                {"id": "b", "score": 0.2, "pass": True, "weight": 2.0},
                {"id": "a", "score": 0.4, "pass": None},
            ),
            _row(8, {"id": "b", "error": {"message": "gone"}}, {"id": "c", "status": "abstained"}),
        ]
    )
    assert len(found) == 2
    assert found.key.tolist() == [7, 8]
    assert found.names == ("a", "b", "a#2", "c")
    assert found.juror.T.tolist() == [[0, 1, 2], [1, 3, -1]]
    assert found.seated.tolist() == [3, 2]
    assert found.votes.T.tolist() == [[1, 1, -1], [-1, -1, -1]]
    assert found.withheld.T.tolist() == [[False, False, True], [False, False, False]]
    assert found.failed.T.tolist() == [[False, False, False], [True, False, False]]
    assert found.scores[:, 0].tolist() == [0.9, 0.2, 0.4]
    assert all(map(math.isnan, found.scores[:, 1]))
    assert found.weights[1, 0] == 2.0
    assert math.isnan(found.weights[0, 0])
    assert found.threshold.tolist() == [0.5, 0.5]
    assert found.quorums == ("2/3",)
    assert STRATEGIES[found.strategy[0]] is Strategy.TRIMMED_MEAN
    assert found.fraction[0] == 0.2
    assert ROUNDINGS[found.rounding[0]] == "down"
    # One of three goes at each end, and 0.4 alone is under the threshold of 0.5.
    assert DECISIONS[found.decision[0]] is Decision.FAIL
    assert found.score[0] == 0.4
    assert found.decision[1] == -1
    assert math.isnan(found.score[1])


def test_the_second_seat_of_one_id_has_a_name_of_its_own() -> None:
    assert seat_names(["a", "b", "a", "a"]) == ["a", "b", "a#2", "a#3"]


def test_no_verdicts_are_no_columns() -> None:
    found = columns([])
    assert (len(found), found.scores.shape, found.names) == (0, (0, 0), ())
