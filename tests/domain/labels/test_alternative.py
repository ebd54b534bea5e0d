"""The alternative annotator test: by hand, on a panel like a person, and on a bad one."""

import random

import pytest

from reviewdesk.domain.labels.team import alternative_test

NAMES = ("ann", "ben", "cy")


def labelled(seed: int, people: float, panel: float) -> tuple[list[list[str | None]], list[str]]:
    """60 items, labelled by three people and a panel that are right so often."""
    rng = random.Random(seed)  # noqa: S311

    def say(truth: str, right: float) -> str:
        return truth if rng.random() < right else {"pass": "fail", "fail": "pass"}[truth]

    truths = [rng.choice(("pass", "fail")) for _ in range(60)]
    given: list[list[str | None]] = [[say(t, people) for _ in NAMES] for t in truths]
    return given, [say(t, panel) for t in truths]


@pytest.mark.parametrize(
    ("people", "panel", "least", "most"), [(0.85, 0.95, 18, 20), (0.9, 0.5, 0, 0)]
)
def test_a_panel_as_good_as_people_may_stand_in(
    people: float, panel: float, least: int, most: int
) -> None:
    found = [alternative_test(*labelled(seed, people, panel), NAMES) for seed in range(20)]
    assert least <= sum(one.passed for one in found) <= most


def test_shares_and_p_by_hand() -> None:
    # Ann differs from both others on 10 of 40 items, and the panel on none: it wins those.
    given: list[list[str | None]] = [
        ["fail" if at < 10 else "pass", "pass", "pass"] for at in range(40)
    ]
    found = alternative_test(given, ["pass"] * 40, NAMES)
    ann, ben, _ = found.reviewers
    assert (ann.items, ann.panel, ann.person) == (40, 1.0, 0.75)
    # d is -1 ten times and 0 thirty times: mean -.25, sd .4385; t = -.4/(.4385/√40) = -5.77;
    # the tail of t with 39 degrees of freedom beyond it, by Simpson: 5.42e-7.
    assert ann.p == pytest.approx(5.42e-07, rel=0.01)
    # Ben is alike with Cy wherever the panel is.
    assert (ben.panel, ben.person, ben.p) == (1.0, 1.0, 0.0)
    assert (found.winning, found.passed) == (1.0, True)


def test_few_reviewers_or_items_give_no_test() -> None:
    given: list[list[str | None]] = [["pass", "pass", None]] * 50
    found = alternative_test(given, ["pass"] * 50, NAMES)
    assert (found.winning, found.passed) == (None, False)
    assert "3 reviewers with 30 items" in found.reason
