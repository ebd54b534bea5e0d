"""Which items two people label, and what is withheld from the second of them."""

from __future__ import annotations

import hashlib

import pytest

from reviewdesk.domain.labels.repeats import NOTHING, Withheld, is_double

ITEMS = [hashlib.sha256(bytes([n % 256, n // 256])).digest() for n in range(10_000)]


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_about_the_share_of_the_items_is_chosen(share: float) -> None:
    chosen = {item for item in ITEMS if is_double(item, share)}
    # Five standard deviations of a binomial count: sqrt(10,000 · s · (1 - s)) is at most 50.
    assert abs(len(chosen) - share * len(ITEMS)) < 250
    assert chosen <= {item for item in ITEMS if is_double(item, share + 0.1)}


def test_the_ends_choose_none_and_all() -> None:
    assert not any(is_double(item, 0) for item in ITEMS)
    assert all(is_double(item, 1) for item in ITEMS)


def test_the_choice_is_as_documented() -> None:
    item = bytes.fromhex("ab" * 32)
    digest = hashlib.sha256(b"second opinion\n" + b"ab" * 32).digest()
    edge = int.from_bytes(digest[:8]) / 2**64
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
    assert not NOTHING
