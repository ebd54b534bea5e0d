"""What an archive and its parts are called."""

from __future__ import annotations

import pytest

from reviewdesk.desk.archive.archive import archive_source


@pytest.mark.parametrize(
    ("patterns", "parts", "source"),
    [
        (["runs/*.jsonl"], 12, "12 parts of runs/*.jsonl"),
        (["a.jsonl"], 1, "1 part of a.jsonl"),
        (["a.jsonl", "b.jsonl"], 2, "2 parts of a.jsonl, b.jsonl"),
        (
            [f"{i}.jsonl" for i in range(2000)],
            1999,
            "1,999 parts of 0.jsonl, 1.jsonl and 1,998 more",
        ),
    ],
)
def test_the_source_of_an_archive_is_told_in_words(
    patterns: list[str], parts: int, source: str
) -> None:
    assert archive_source(patterns, parts) == source
