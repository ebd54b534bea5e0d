"""Progress in words: done of total, the time left, and the labels that figures wait for."""

import pytest
from msgspec.structs import replace

from reviewdesk.domain.records import Pace, Progress
from reviewdesk.views.queue import done_texts, figures_wait, strata_text, time_texts

PROGRESS = Progress(
    verdicts=30, labelled=6, flagged=15, flagged_done=3, audit=15, audit_done=1,
    deferred=0, unsure=0, disputed=0, left=24,
)  # fmt: skip


@pytest.mark.parametrize(
    ("dwell", "words"),
    [
        (50.0, "20 min"),  # 24 x 50 s = 1,200 s
        (30.0, "12 min"),  # 24 x 30 s = 720 s
        (295.0, "118 min"),  # 7,080 s
        (300.0, "2 h"),  # 7,200 s
    ],
)
def test_the_time_left_is_the_rest_at_the_mean_dwell(dwell: float, words: str) -> None:
    # The median, here a second, is not what so many labels take.
    found = Pace(3600 / dwell, 30)
    assert time_texts(PROGRESS, found) == (f"{words} left", words)


def test_progress_is_told_in_words_and_time_only_at_a_steady_pace() -> None:
    assert time_texts(PROGRESS, None) == ("", "")
    assert time_texts(PROGRESS, Pace(100.0, 4)) == ("", "")
    done = Progress(30, 30, 15, 15, 15, 15, 0, 0, 0, left=0)
    assert time_texts(done, Pace(100.0, 30)) == ("", "")
    assert done_texts(PROGRESS) == ("6 of 30 done", "6/30")
    assert strata_text(PROGRESS) == "flagged 3/15 · random check 1/15"
    assert strata_text(replace(PROGRESS, flagged=0, flagged_done=0)) == "random check 1/15"


def test_figures_wait_for_twenty_labels_or_for_all_that_a_small_run_can_give() -> None:
    assert figures_wait(PROGRESS, 6) == ("6 labels · figures after 14 more labels")
    # One says of a verdict without a decision what it should be.
    assert figures_wait(PROGRESS, 5) == (
        "5 of 6 labels count (1 without a decision) · figures after 15 more labels"
    )
    small = Progress(12, 0, 0, 0, 12, 0, 0, 0, 0, left=12)
    assert figures_wait(small, 0) == ("no pass or fail labels yet · figures after 12 more labels")
    over = Progress(12, 12, 0, 0, 12, 12, 0, 12, 0)
    assert figures_wait(over, 0) == "0 of 12 labels count (12 can't tell)"
    undecided = replace(small, labelled=3, left=9)
    assert figures_wait(undecided, 0).startswith("0 of 3 labels count (3 without a decision) · ")


@pytest.mark.parametrize(
    ("per_hour", "counted", "steady"),
    [
        (150.0, 5, True),  # 5 / 150 h = 120 s
        (151.0, 5, False),  # 119 s
        (60.0, 4, False),
        (6233.0, 8, False),  # 4.6 s
        (6233.0, 208, True),  # 120.1 s
        (None, 9, False),
    ],
)
def test_a_pace_means_something_after_five_labels_over_two_minutes(
    per_hour: float | None, counted: int, steady: bool
) -> None:
    assert Pace(per_hour, counted).steady is steady
