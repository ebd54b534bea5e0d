"""A column has one hash, however its values are cut into windows."""

from __future__ import annotations

from reviewdesk.domain.run.digest import RunDigest

VALUES = ["a", "", "ü", None, "日本", b"\xff", "z", None]


def test_windows_do_not_change_the_hash_of_a_column() -> None:
    whole, cut, other = RunDigest(), RunDigest(), RunDigest()
    whole.add("band", VALUES)
    # Alone, each value is of one kind: a blob, an ASCII text, another text or NULL.
    for value in VALUES:
        cut.add("band", [value])
        other.add("band", [value or ""])
    assert cut.columns() == whole.columns()
    assert cut.hexdigest({}) == whole.hexdigest({})
    # The lengths tell NULL from an empty text, whose bytes are the same.
    assert {name for name, one in whole.columns().items() if other.columns()[name] != one} == {
        "band sizes"
    }
