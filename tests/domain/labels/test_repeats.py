"""Which items come back, how far a reviewer agrees with themselves, and their pace."""

import hashlib
import math
from datetime import timedelta

import pytest

from reviewdesk.domain.labels.team import OTHERS, is_double, pace, repeats_due, self_agreement
from reviewdesk.domain.records import NOT_WITHHELD, Pace, Truth, Withheld
from tests.helpers import START

P, F, U = Truth.PASS, Truth.FAIL, Truth.UNSURE


def items(count: int) -> list[bytes]:
    return [number.to_bytes(4) for number in range(count)]


def coming(count: int, share: float, seed: str = "seed") -> tuple[list[bytes], list[int]]:
    """What comes back over ``count`` labels, and how many labels lay between."""
    used: list[bytes] = []
    gaps: list[int] = []
    newest: dict[bytes, int] = {}
    rest = count
    for done, item in enumerate(items(count)):
        rest += 1
        if found := repeats_due(newest, newest.keys() - {*used}, rest, seed, share)[:1]:
            used += found
            gaps.append(done - int.from_bytes(found[0]))
            rest = 0
        newest[item] = done
    return used, gaps


def test_about_the_share_comes_back_each_once_after_fifty_others() -> None:
    used, gaps = coming(1550, 0.05)
    # Of the 1500 that fifty follow, 5% are 75 with a deviation of √(1500 · .05 · .95) = 8.4.
    assert abs(len(used) - 75) < 3 * 8.4
    assert len(set(used)) == len(used)
    assert min(gaps) >= OTHERS
    # What is drawn is not spaced evenly, so that nobody can count to it.
    assert len(set(gaps)) > 15


def test_repeats_keep_their_distance_and_who_waits_longest_comes_first() -> None:
    # With 5%, at least 1 / (2 · 0.05) = 10 labels lie between two repeats.
    newest = {item: key for key, item in enumerate(items(2000))}
    assert not repeats_due(newest, newest, 9, "seed", 0.05)
    assert repeats_due(newest, newest, 10, "seed", 0.05)
    assert not repeats_due(newest, newest, 10, "seed", 0)
    # With a share of 1 every item comes back, 50 to 74 labels after its own by its ninth byte.
    newest = {item: key for key, item in enumerate(items(80))}
    order = repeats_due(newest, newest, 9, "seed", 1)
    digests = [hashlib.sha256(f"seed\n{item.hex()}".encode()).digest() for item in items(80)]
    due = {item: at + 50 + digests[at][8] % 25 for at, item in enumerate(items(80))}
    assert order == sorted((one for one in due if due[one] <= 80), key=lambda one: (due[one], one))
    # An item labelled again waits anew; one that came back already is not offered.
    assert set(order[1:]) == {*repeats_due(newest, {*order[1:]}, 9, "seed", 1)}
    assert order[0] not in repeats_due(newest | {order[0]: 80}, newest, 9, "seed", 1)


def test_agreement_with_oneself_and_where_it_is_undefined() -> None:
    pairs = [(P, P)] * 5 + [(F, F)] * 3 + [(P, F)] * 2
    found = self_agreement(pairs)
    assert (found.n, found.same, found.rate) == (10, 8, 0.8)
    # Chance: .7 · .5 passes and .3 · .5 fails make .5, so kappa = (.8 - .5) / (1 - .5) = .6.
    assert found.kappa == pytest.approx(0.6)
    # Wilson at 8 of 10 with z² = 3.8415: centre (.8 + .19207) / 1.38415 = .716741, half
    # 1.959964 · √(.16/10 + 3.8415/400) / 1.38415 = .226571.
    assert found.low == pytest.approx(0.490162, abs=1e-5)
    assert found.high == pytest.approx(0.943313, abs=1e-5)
    assert self_agreement([]).rate is None
    one = self_agreement([(U, U)])
    # All pairs are of one word, so chance alone agrees on every one.
    assert (one.rate, one.kappa) == (1.0, None)
    assert not math.isnan(one.low or 0.0)


ITEMS = [hashlib.sha256(bytes([n % 256, n // 256])).digest() for n in range(10_000)]


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_about_the_share_of_the_items_is_chosen(share: float) -> None:
    chosen = {item for item in ITEMS if is_double(item, share)}
    # Five standard deviations of a binomial count: sqrt(10,000 · s · (1 - s)) is at most 50.
    assert abs(len(chosen) - share * len(ITEMS)) < 250
    assert chosen <= {item for item in ITEMS if is_double(item, share + 0.1)}


def test_the_choice_is_as_documented_and_none_or_all_at_its_ends() -> None:
    assert not any(is_double(item, 0) for item in ITEMS)
    assert all(is_double(item, 1) for item in ITEMS)
    item = bytes.fromhex("ab" * 32)
    edge = int.from_bytes(hashlib.sha256(b"second opinion\n" + b"ab" * 32).digest()[:8]) / 2**64
    assert is_double(item, edge + 1e-9)
    assert not is_double(item, edge - 1e-9)


def test_own_work_is_always_shown() -> None:
    held = Withheld("ann", frozenset({b"a"}), frozenset({b"b"}))
    assert held.hides(b"a")
    assert held.hides(b"b")
    assert held.shows(b"a", "ann")
    assert not held.shows(b"a", "bob")
    assert held.shows(b"c", "bob")
    assert held
    assert not NOT_WITHHELD


NOTHING = Pace(None, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Dwells 10, 20 and 60: the median is 20; 3 in 90 s are 3 / 90 * 3600 = 120 in an hour.
        ("label@0 label@10 label@30 label@90", Pace(120.0, 3)),
        # The median of an even number lies between: dwells 10 and 20; 2 / 30 * 3600 = 240.
        ("label@0 label@10 label@30", Pace(240.0, 2)),
        # Without a timed label nothing is said.
        *((text, NOTHING) for text in ("", "label@0", "note@0 label@9", "defer@0")),
        ("label@0 defer@9", NOTHING),
        # What else was done on the item is part of its time: 4 + 5 + 3 + 8 = 20 seconds.
        ("label@0 note@4 tags@9 mark@12 label@20", Pace(180.0, 1)),
        # The 50 seconds on the item that came back belong to no label; the next label took 10.
        ("label@0 repeat@50 label@60", Pace(360.0, 1)),
        # The 50 seconds before a deferral belong to no label; the label took 10.
        ("label@0 defer@50 label@60", Pace(360.0, 1)),
        # A deferral will do as the beginning of the first label.
        ("defer@0 label@10", Pace(360.0, 1)),
        # 300 s are no absence, 300.001 are; the label after that is counted again: 300 and 12.
        ("label@0 label@300 label@600.001 label@612.001", Pace(2 / 312 * 3600, 2)),
        # An absence anywhere in a label's time leaves it out.
        ("label@0 note@10 note@400 label@405", NOTHING),
        # Many small gaps are work, however long they are together: 200 + 200 + 200.
        ("label@0 note@200 note@400 label@600", Pace(6.0, 1)),
        # Labelled after 10 s, taken back after 2 more, given again after 3 more: one item in 15 s.
        ("label@0 -label@10 undo@12 label@15", Pace(240.0, 1)),
        # The first label taken back leaves the next one without a beginning.
        ("-label@0 undo@2 label@15", NOTHING),
        # Undone and brought back: it stands, at the time it was given.
        ("label@0 label@10 undo@11 redo@13 label@15", Pace(480.0, 2)),
        # An undone deferral ends nothing, and a clock that was set back tells nothing.
        ("label@0 -defer@50 undo@52 label@60", Pace(60.0, 1)),
        ("label@100 label@50 label@60", Pace(360.0, 1)),
        # Labels in no time have no rate.
        ("label@0 label@0", Pace(None, 1)),
    ],
)
def test_worked_paces(text: str, expected: Pace) -> None:
    """``label@0 note@4``: kinds and their seconds; a ``-`` in front was undone."""
    steps = [
        (START + timedelta(seconds=float(seconds)), "undone" if kind.startswith("-") else kind)
        for kind, seconds in (word.split("@") for word in text.split())
    ]
    assert pace(steps) == expected
