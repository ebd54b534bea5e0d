"""Tag names: short words that a filter can name, the same however they were typed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from reviewdesk.domain.safetext import hidden_count, show_line
from reviewdesk.errors import UsageError

LONGEST = 40
_SPACE = re.compile(r"\s+")
_FILTER_SIGNS = '"|'
"""What ends or splits a word of a filter, so that ``tag:`` could not name it."""


def normal_tag(text: str) -> str:
    """A tag in its one spelling: trimmed, lower-case, runs of white space as ``-``.

    Raises:
        UsageError: nothing is left, or it is too long or holds what a tag cannot.
    """
    tag = unicodedata.normalize("NFC", _SPACE.sub("-", text.strip()).lower())
    named = f'the tag "{show_line(text, 60)}"'
    if not tag:
        raise UsageError("a tag is empty", "Write a word, such as wrong-policy.")
    if hidden_count(text):
        raise UsageError(f"{named} holds hidden characters", "Type it anew.")
    if len(tag) > LONGEST:
        raise UsageError(f"{named} has {len(tag)} characters", f"Shorten it to {LONGEST} or fewer.")
    if "," in tag:
        raise UsageError(f"{named} holds a comma", "Commas separate tags: write two.")
    if wrong := next((sign for sign in _FILTER_SIGNS if sign in tag), None):
        raise UsageError(f"{named} holds {wrong}", "Leave it out: it has a meaning in filters.")
    if tag.startswith("!"):
        raise UsageError(f"{named} starts with !", "Leave it out: it has a meaning in filters.")
    return tag


def normal_tags(texts: Iterable[str]) -> tuple[str, ...]:
    """Several tags in their one spelling, each once, in the order given.

    Raises:
        UsageError: one of them is no tag.
    """
    return tuple(dict.fromkeys(normal_tag(text) for text in texts))


def split_tags(text: str) -> tuple[str, ...]:
    """The tags of a typed line, separated by commas: ``a, b c`` is ``a`` and ``b-c``.

    Raises:
        UsageError: one of them is no tag.
    """
    return normal_tags(part for part in text.split(",") if part.strip())


def usable_tags(texts: Iterable[str]) -> tuple[str, ...]:
    """Those of a file's tags that can be tags, in their one spelling; the others are left out."""
    usable: dict[str, None] = {}
    for text in texts:
        try:
            usable[normal_tag(text)] = None
        except UsageError:
            continue
    return tuple(usable)
