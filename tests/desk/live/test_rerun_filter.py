"""The filter that keeps what a re-run decided the other way."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from reviewdesk.desk import Desk
from reviewdesk.domain.records import Run
from tests.desk.live.test_rerun_export import ask_again
from tests.helpers import load, open_desk, report, verdict

PASSED, FAILED = (0.9, 0.9, 0.2), (0.2, 0.2, 0.1)


def kept(desk: Desk, run: Run, text: str) -> str:
    return "".join(row.id for row in desk.rows(desk.queue(run, text, "file")))


def test_the_newest_re_run_says_whether_a_verdict_flipped(tmp_path: Path) -> None:
    filed = {
        "a": verdict("a", *PASSED, reruns=[verdict("a", *FAILED)]),
        # Its newest re-run came back to the first decision.
        "b": verdict("b", *PASSED, reruns=[verdict("b", *FAILED), verdict("b", *PASSED)]),
        # The re-run decides nothing, which turns nothing over.
        "c": verdict("c", *PASSED, reruns=[verdict("c", None, decision="error")]),
        "d": verdict("d", *FAILED),
        "e": verdict("e", *PASSED, reruns=[]),
        "f": verdict("f", *PASSED, reruns=[verdict("f", *FAILED)], input='says "reruns"'),
        "g": verdict("g", *PASSED, input='says "reruns"'),
    }
    with closing(open_desk(tmp_path / "desk.db")) as desk:
        run = load(desk, report(*filed.values()))
        other = load(desk, report({**filed["a"], "reruns": []}, report_id="other"))
        assert kept(desk, run, "rerun:flipped") == "af"
        # Those of the desk are newer: d turns, and f is as it was.
        ask_again(desk, desk.find(run, "d"), verdict("d", *PASSED))
        ask_again(desk, desk.find(run, "f"), verdict("f", *FAILED))
        ask_again(desk, desk.find(run, "f"), verdict("f", *PASSED))
        assert kept(desk, run, "rerun:flipped") == "ad"
        assert kept(desk, run, "!rerun:flipped") == "bcefg"
        assert kept(desk, run, "decision:fail|id~a rerun:flipped") == "ad"
        assert kept(desk, other, "rerun:flipped") == ""


def test_a_filed_re_run_is_decided_by_the_report_s_own_rule(tmp_path: Path) -> None:
    seats = [{"id": f"j{seat}", "score": 0.5} for seat in (1, 2)]
    first = verdict("a", 0.9, 0.9, reruns=[{"id": "a", "case": {"test": "t"}, "jurors": seats}])
    with closing(open_desk(tmp_path / "desk.db")) as desk:
        for threshold, flipped in ((0.4, ""), (0.6, "a")):
            rule = {"threshold": threshold, "strategy": "mean"}
            run = load(desk, report(first, defaults=rule, report_id=f"at {threshold}"))
            assert kept(desk, run, "rerun:flipped") == flipped
