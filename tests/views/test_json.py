"""The one function that turns records into JSON."""

from collections.abc import Mapping
from enum import StrEnum

import pytest
from msgspec import Struct, field

from reviewdesk.domain.assessment.result import Flag
from reviewdesk.views.json.review import plain, shape


class Word(StrEnum):
    """A word."""

    YES = "yes"


class Inner(Struct, frozen=True):
    """A record in a record."""

    n: int
    word: Word | None = None


class Outer(Struct, frozen=True):
    """A record with one of everything."""

    name: str
    inner: Inner | None
    rows: tuple[Inner, ...] = ()
    flags: Flag = Flag.SPLIT
    more: Mapping[str, object] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.rows)


FULL = Outer("a", Inner(1, Word.YES), (Inner(2),), Flag.SPLIT | Flag.ESCALATED, {"x": (1, None)})


def test_without_keys_all_fields_are_given_in_their_order() -> None:
    assert list(shape(FULL).items()) == [
        ("name", "a"),
        ("inner", {"n": 1, "word": "yes"}),
        ("rows", [{"n": 2, "word": None}]),
        # In the order of their bits.
        ("flags", ["escalated", "split"]),
        ("more", {"x": [1, None]}),
    ]


def test_keys_are_chosen_renamed_added_and_starred() -> None:
    found = shape(FULL, "count=size id=name word=inner.word x=more.x y=more.y", last=Inner(3))
    assert list(found.items()) == [
        ("count", 1), ("id", "a"), ("word", "yes"), ("x", [1, None]), ("y", None),
        ("last", {"n": 3, "word": None}),
    ]  # fmt: skip
    assert list(shape(Inner(4), "word * again=n").items()) == [
        ("word", None),
        ("n", 4),
        ("again", 4),
    ]
    assert shape(Outer("b", None), "n=inner.n") == {"n": None}


@pytest.mark.parametrize("keys", ["nane", "n=inner.m"])
def test_a_key_that_no_record_has_is_an_error(keys: str) -> None:
    with pytest.raises(AttributeError):
        shape(FULL, keys)


def test_what_is_no_record_is_an_error() -> None:
    with pytest.raises(TypeError):
        plain(object())
