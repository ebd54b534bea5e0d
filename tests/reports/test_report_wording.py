import copy
from typing import Any

import pytest

from reviewdesk.reports.canonical.rules import header_problem, is_time
from reviewdesk.reports.wording import found, spell_path
from tests.helpers import verdict_problem

BASE: dict[str, Any] = {
    "id": "v",
    "case": {"test": "t"},
    "jurors": [{"id": "a", "score": 0.5}, {"id": "b", "pass": True}],
}


def _changed(path: str, value: Any) -> dict[str, Any]:
    """BASE with the value at a dotted path; numbers are list indexes."""
    verdict = copy.deepcopy(BASE)
    node: Any = verdict
    *steps, last = path.split(".")
    for step in steps:
        node = node[int(step)] if step.isdigit() else node.setdefault(step, {})
    node[int(last) if last.isdigit() else last] = value
    return verdict


@pytest.mark.parametrize(
    ("path", "value", "where", "text"),
    [
        ("score", 1.5, "$.score", "must be a number from 0 to 1, found 1.5"),
        ("score", True, "$.score", "must be a number from 0 to 1, found true"),
        ("id", "", "$.id", 'must be a text of 1 to 500 characters, found ""'),
        ("id", None, "$.id", "must be a text of 1 to 500 characters, found null"),
        ("case.test", 3, "$.case.test", "must be a text that is not empty, found 3"),
        ("case.epoch", 0, "$.case.epoch", "must be a whole number, 1 or more, found 0"),
        ("case.epoch", 1.5, "$.case.epoch", "must be a whole number, 1 or more, found 1.5"),
        (
            "decision", "maybe", "$.decision",
            'must be "pass", "fail", "inconclusive" or "error", found "maybe"',
        ),
        ("jurors", {}, "$.jurors", "must be a list, found {}"),
        ("jurors.1", "x", "$.jurors[1]", 'must be an object, found "x"'),
        ("same_family", "yes", "$.same_family", 'must be true or false, found "yes"'),
        (
            "quorum", "two", "$.quorum",
            'must be a number above 0 and at most 1, or a fraction such as "2/3", found "two"',
        ),
        ("quorum", "3/2", "$.quorum", 'must be a fraction above 0 and at most 1, found "3/2"'),
        ("quorum", "0/0", "$.quorum", 'must be a fraction above 0 and at most 1, found "0/0"'),
        ("reference", [1], "$.reference[0]", "must be a text, found 1"),
        ("reference", 1, "$.reference", "must be a text or a list of texts, found 1"),
        ("colour", 1, "$.colour", "is not a key of this format (free data belongs under meta)"),
        (
            "jurors.0.error", {"message": "x"}, "$.jurors[0].score",
            "must be null where the juror has an error, found 0.5",
        ),
        (
            "jurors.1.id", "a", "$.jurors[1].id",
            'must be unique within the verdict, found "a" again',
        ),
        (
            "trim",
            {"method": "quantile", "dropped_low": ["a"], "dropped_high": ["z"]},
            "$.trim.dropped_high[0]",
            'must name a juror of the verdict, found "z"',
        ),
        (
            "jurors.0.at", "yesterday", "$.jurors[0].at",
            'must be a time such as 2025-01-31T12:00:00Z, found "yesterday"',
        ),
        ("agreement", {"value": 0.5}, "$.agreement.metric", "is missing"),
        ("meta", [], "$.meta", "must be an object, found []"),
        ("jurors.0.weight", 0, "$.jurors[0].weight", "must be a number above 0, found 0"),
    ],
)  # fmt: skip
def test_each_kind_of_error_in_words(path: str, value: Any, where: str, text: str) -> None:
    problem = verdict_problem(_changed(path, value))
    assert problem is not None
    assert (spell_path(problem.path), problem.text) == (where, text)


def test_the_base_and_a_rerun_fit() -> None:
    assert verdict_problem({**BASE, "reruns": [BASE]}) is None
    problem = verdict_problem({**BASE, "reruns": [BASE, _changed("jurors.1.id", "a")]})
    assert problem is not None
    assert spell_path(problem.path) == "$.reruns[1].jurors[1].id"


def test_header_rules() -> None:
    header = {"schema": "reviewdesk.report/1", "defaults": {"weights": {"a": 0}}}
    problem = header_problem(header)
    assert problem is not None
    assert spell_path(problem.path) == "$.defaults.weights.a"
    assert problem.text == "must be a number above 0, found 0"
    problem = header_problem(
        {"schema": "reviewdesk.report/1", "created_at": "2025-02-30T00:00:00Z"}
    )
    assert problem is not None
    assert problem.path == ("created_at",)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("2025-01-31T12:00:00Z", True),
        ("2025-01-31t12:00:00.123+02:00", True),
        ("2016-12-31T23:59:60Z", True),
        ("2025-01-31T12:00:00", False),
        ("2025-13-01T12:00:00Z", False),
        ("2025-01-31T24:00:00Z", False),
        ("2025-01-31", False),
        ("", False),
    ],
)
def test_times(text: str, *, fits: bool) -> None:
    assert is_time(text) is fits


def test_what_was_found_is_short_and_harmless() -> None:
    shown = found("\x1b[31m" + "x" * 500)
    assert "\x1b" not in shown
    assert len(shown) < 80
    assert spell_path(("a b\n", 0)) == '$["a b⏎"][0]'
