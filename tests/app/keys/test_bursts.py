"""A hand's keys act; four or more printable keys within 25 ms of each other do nothing."""

from itertools import pairwise

import pytest

from reviewdesk.app.app import Bursts, Pressed


def key(name: str, at: float, *, waits: bool | None = None) -> Pressed:
    """A key whose event is its name; label keys wait, and names of one letter are printable."""
    waiting = name in "pfi" if waits is None else waits
    return Pressed(name, name, at, len(name) == 1, waiting)


def acting(times: list[tuple[str, float]], end: float = 10.0) -> list[str]:
    """Return the keys that act, in order, once all were pressed and nothing follows."""
    bursts = Bursts()
    acted = [one.event for name, at in times for one in bursts.press(key(name, at))]
    return acted + [one.event for one in bursts.due(end)]


def test_a_label_key_waits_25_ms_and_no_longer() -> None:
    bursts = Bursts()
    assert bursts.press(key("p", 1.0)) == []
    assert bursts.rest(1.0) == pytest.approx(0.025)
    assert bursts.due(1.0249) == []
    assert [one.event for one in bursts.due(1.0251)] == ["p"]
    assert bursts.rest(1.03) is None


def test_a_key_that_moves_does_not_wait() -> None:
    bursts = Bursts()
    assert [one.event for one in bursts.press(key("j", 1.0))] == ["j"]
    assert bursts.rest(1.0) is None


def test_keys_act_in_the_order_in_which_they_were_pressed() -> None:
    # Had j acted at once, p would label the item that it moves to.
    assert acting([("p", 1.0), ("j", 1.01)]) == ["p", "j"]
    assert acting([("p", 1.0), ("j", 1.01), ("f", 1.3)]) == ["p", "j", "f"]


@pytest.mark.parametrize("apart", [0.0, 0.001, 0.025])
def test_four_printable_keys_close_together_do_nothing(apart: float) -> None:
    assert acting([(name, 1 + place * apart) for place, name in enumerate("pfip")]) == []
    assert acting([(name, 1 + place * apart) for place, name in enumerate("pass fail")]) == []


def test_three_keys_or_wider_apart_are_a_hands() -> None:
    assert acting([(name, 1.0) for name in "pfi"]) == ["p", "f", "i"]
    assert acting([(name, 1 + place * 0.026) for place, name in enumerate("pfip")]) == [*"pfip"]


def test_keys_in_the_middle_and_at_the_end_of_a_burst_do_nothing() -> None:
    keys = [*"pass", "enter", *"fail", "enter", "escape", "p"]
    assert acting([(name, 1.0) for name in keys]) == []


def test_a_burst_that_arrives_in_parts_stays_one() -> None:
    # The parts of a long paste over a slow line are further apart than its keys.
    times = [*((name, 1.0) for name in "xyzx"), ("p", 1.1), ("f", 1.2), ("i", 1.34)]
    assert [one for one in acting(times) if one in "pfi"] == []
    assert acting([*times, ("p", 1.6)])[-1] == "p"


def test_a_key_that_is_held_down_and_only_moves_is_no_burst() -> None:
    # 60 repeats a second, as some keyboards are set.
    times = [("j", 1 + place / 60) for place in range(40)]
    assert all(later[1] - at[1] < 0.025 for at, later in pairwise(times))
    assert acting(times) == ["j"] * 40
    # A label key that follows within a burst's time waits, and does not act.
    assert acting([*times, ("p", times[-1][1] + 0.01)]) == ["j"] * 40


def test_a_label_key_that_repeats_faster_than_a_hand_gives_no_label() -> None:
    assert acting([("p", 1.0 + place * 0.015) for place in range(20)]) == []


def test_keys_that_the_app_handles_late_are_no_burst() -> None:
    # Read a fifth of a second apart, and all handled a second later: each acts when the next one
    # shows that nothing followed it within 25 ms.
    bursts = Bursts()
    acted = []
    for place, name in enumerate("pfip"):
        acted += [one.event for one in bursts.press(key(name, 1 + place * 0.2))]
    assert acted == ["p", "f", "i"]
    assert [one.event for one in bursts.due(2.6)] == ["p"]
