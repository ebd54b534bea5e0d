"""Tag names: short words that a filter can name, brought into one spelling however typed."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress

from reviewdesk.domain.safetext import hidden_count, show_line
from reviewdesk.errors import UsageError

LONGEST = 40
DIGITS = 9
USUAL = (
    "unsupported-claim", "wrong-fact", "incomplete", "ignored-instruction", "wrong-policy",
    "unsafe",
)  # fmt: skip
"""Tags to begin with on a desk: what commonly goes wrong in a response."""
_SPACE = re.compile(r"\s+")
_FILTER_SIGNS = '"|'
"""Characters that end or split a word of a filter, so that ``tag:`` could not name such a tag."""


def normal_tag(text: str) -> str:
    """Return a tag in lower case, with ``-`` for blanks; raise UsageError if it cannot be a tag."""
    tag = unicodedata.normalize("NFC", _SPACE.sub("-", text.strip()).lower())
    named = f'the tag "{show_line(text, 60)}"'
    if not tag:
        raise UsageError("a tag is empty", "Write a word, such as wrong-policy.")
    if hidden_count(text):
        raise UsageError(f"{named} contains hidden characters", "Type it again.")
    if len(tag) > LONGEST:
        raise UsageError(f"{named} has {len(tag)} characters", f"Shorten it to {LONGEST} or fewer.")
    if "," in tag:
        raise UsageError(f"{named} contains a comma", "Commas separate tags: write two.")
    wrong = [f"contains {sign}" for sign in _FILTER_SIGNS if sign in tag]
    wrong += ["starts with !"] if tag.startswith("!") else []
    if wrong:
        raise UsageError(f"{named} {wrong[0]}", "Leave it out: it has a meaning in filters.")
    return tag


def normal_tags(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(normal_tag(text) for text in texts))


def split_tags(text: str) -> tuple[str, ...]:
    return normal_tags(part for part in text.split(",") if part.strip())


def digit_tags(
    places: Sequence[str], configured: Sequence[str], own: Sequence[str]
) -> tuple[str, ...]:
    """Return a tag for each digit: those at ``places``, configured ones, then ``own``."""
    usual = () if places or configured else USUAL
    return tuple(dict.fromkeys((*places, *configured, *usual, *own)))[:DIGITS]


def usable_tags(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the valid tags of a file in their normal spelling, each once; drop the others."""
    usable = []
    for text in texts:
        with suppress(UsageError):
            usable.append(normal_tag(text))
    return tuple(dict.fromkeys(usable))


_LONGEST_NAME = 60
_MOST_CHARACTERS = 1_000


def checked_name(name: str, place: str = "") -> str:
    """Return a reviewer's name in one spelling, or raise UsageError if it cannot be one."""
    name = unicodedata.normalize("NFC", " ".join(name.split()))
    if not name:
        raise UsageError(f"{place}a reviewer's name is blank", "Use another name.")
    if name.startswith("@"):
        raise UsageError(f"{place}{name}: no reviewer's name begins with @", "Use another name.")
    if len(name) > _MOST_CHARACTERS:
        problem = f"{place}a reviewer's name has {len(name):,} characters"
        raise UsageError(problem, f"Use at most {_MOST_CHARACTERS:,}.")
    return name


def reviewer_name(typed: str) -> str:
    """Return a name typed by a visitor, which is short and plain; UsageError for another one."""
    name = checked_name(typed)
    if len(name) > _LONGEST_NAME or show_line(name, _LONGEST_NAME + 1) != name:
        raise UsageError(f"a name has up to {_LONGEST_NAME} plain characters", "Type it again.")
    return name
