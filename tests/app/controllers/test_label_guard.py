"""The label guard: a held key, a paste and a slow screen never label what nobody saw."""

import pytest

from reviewdesk.app.controllers.exposure import LabelGuard
from tests.app.appkit import Clock


def shown_guard() -> tuple[LabelGuard, Clock]:
    clock = Clock()
    guard = LabelGuard(clock)
    guard.shown()
    return guard, clock


def test_nothing_counts_before_an_item_is_shown() -> None:
    assert not LabelGuard(Clock()).press("p")


@pytest.mark.parametrize(
    "presses",
    [
        # A key counts once the item has been shown for the interval.
        [(0.149, "p", False)],
        [(0.150, "p", True)],
        # An ignored press starts the wait anew, and another key does not wait for the first.
        [(0.1, "p", False), (0.1, "p", False), (0.15, "p", True)],
        [(0.1, "p", False), (0.1, "f", True)],
    ],
)
def test_when_a_key_counts(presses: list[tuple[float, str, bool]]) -> None:
    guard, clock = shown_guard()
    for pause, key, counts in presses:
        clock.wait(pause)
        assert guard.press(key) is counts


def test_holding_a_key_labels_at_most_two() -> None:
    guard, clock = shown_guard()
    clock.wait(1.0)
    counted = 0
    # A keyboard repeats after half a second, then every 30 ms.
    for pause in [0.0, 0.5, *[0.03] * 100]:
        clock.wait(pause)
        if guard.press("p"):
            counted += 1
            guard.shown()
    assert counted == 2


def test_twenty_presses_a_fifth_of_a_second_apart_all_count() -> None:
    guard, clock = shown_guard()
    counted = 0
    for _ in range(20):
        clock.wait(0.2)
        if guard.press("p"):
            counted += 1
            guard.shown()
    assert counted == 20


def test_late_handling_neither_drops_nor_bunches_keys() -> None:
    # Keys a fifth of a second apart, every other one handled 60 ms late: saving and drawing take
    # 20 ms. From the late one's hand-over to the next key only 120 ms pass, 40 more than the
    # 80 ms that the app may take for itself leave to spare.
    guard, clock = shown_guard()
    clock.wait(1.0)
    counted = 0
    for i in range(10):
        late = 0.06 if i % 2 else 0.0
        clock.wait(late)
        counted += guard.press("p", late)
        clock.wait(0.02)
        guard.shown()
        clock.wait(0.2 - late - 0.02)
    assert counted == 10


def test_a_slow_screen_is_not_labelled_unseen() -> None:
    # The next item came 400 ms after the key that asked for it; a press 50 ms later is too soon.
    guard, clock = shown_guard()
    clock.wait(1.0)
    assert guard.press("p")
    clock.wait(0.4)
    guard.shown()
    clock.wait(0.05)
    assert not guard.press("f")
