"""The short names of an archive's parts, which ids that several parts have are told apart by."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from glob import has_magic

_SUFFIXES = re.compile(r"(\.(jsonl?|ndjson|parquet|pq|gz))+$", re.IGNORECASE)


def part_names(addresses: Sequence[str]) -> list[str]:
    """Return a name for each address: the file's stem, with as many folders as tell it apart."""
    stems = [_SUFFIXES.sub("", one).replace("\\", "/").split("/") for one in addresses]
    names = ["/".join(one[-1:]) for one in stems]
    for depth in range(2, max(map(len, stems), default=0) + 1):
        taken = Counter(names)
        if max(taken.values()) == 1:
            break
        names = [
            "/".join(stem[-depth:]) if taken[name] > 1 else name
            for stem, name in zip(stems, names, strict=True)
        ]
    taken = Counter(names)
    # Two files of one folder may differ in their suffixes alone.
    return [one if taken[name] > 1 else name for one, name in zip(addresses, names, strict=True)]


def archive_name(patterns: Sequence[str]) -> str:
    """Return a name for an archive: the last folder that its first pattern names."""
    *folders, file = patterns[0].replace("\\", "/").split("/")
    named = [one for one in folders if one and not has_magic(one) and not one.endswith(":")]
    if not has_magic(file):
        return _SUFFIXES.sub("", file)
    return named[-1] if named else "archive"


def archive_source(patterns: Sequence[str], parts: int) -> str:
    """Return where an archive comes from: how many parts, and the patterns that named them.

    A shell may have turned one pattern into thousands of addresses; two of them are named.
    """
    where, more = ", ".join(patterns[:2]), len(patterns) - 2
    if more > 0:
        where += f" and {more:,} more"
    return f"{parts:,} part{'' if parts == 1 else 's'} of {where}"
