"""Ids that several parts have are found by bucket, whatever is in it."""

from collections import defaultdict

from reviewdesk.domain.archive import id_rows, repeated


def found(*parts: list[str]) -> set[tuple[int, int]]:
    buckets: dict[int, bytes] = defaultdict(bytes)
    for number, ids in enumerate(parts):
        for bucket, rows in id_rows(number, ids):
            buckets[bucket] += rows
    return {place for rows in buckets.values() for place in repeated(rows)}


def test_every_place_of_a_repeated_id_is_found() -> None:
    many = [f"v{at}" for at in range(500)]
    assert found(many, ["v7", "w", "v499"], ["v7"]) == {
        (0, 7), (0, 499), (1, 0), (1, 2), (2, 0)
    }  # fmt: skip


def test_buckets_with_one_id_and_with_none_have_nothing_repeated() -> None:
    assert found(["v0"], ["v1"]) == set()
    assert list(repeated(b"")) == []
