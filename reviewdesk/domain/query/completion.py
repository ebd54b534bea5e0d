"""Complete a filter or an order: the texts that can be typed next, each with its meaning."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from msgspec import Struct

from reviewdesk.domain.assessment.result import MEANINGS, SHORT
from reviewdesk.domain.query import words
from reviewdesk.domain.query.filter import Piece, tokens

_MAX_OPTIONS = 100
"""The maximum number of options offered at once."""


class Vocabulary(Struct, frozen=True):
    """The names of a desk that a filter may use."""

    tags: tuple[str, ...] = ()
    jurors: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    filters: Mapping[str, str] = {}
    """The saved filters, by name."""


class Option(Struct, frozen=True):
    """A text to insert, and what it means."""

    text: str
    note: str = ""


class Completion(Struct, frozen=True):
    """The options for the word from ``start`` to ``end``; each option replaces that word."""

    start: int
    end: int
    options: tuple[Option, ...]


def complete(text: str, cursor: int, vocabulary: Vocabulary) -> Completion:
    """Return what the word under the cursor may become: flags, facts, values or saved filters."""
    start = end = cursor = max(0, min(cursor, len(text)))
    pieces = tokens(text)
    for token in pieces:
        if token.piece is Piece.WORD and token.start <= cursor <= token.end:
            start = token.start
            end = token.end
    bars = [token for token in pieces if token.piece is Piece.BAR]
    alone = not any(bar.end == start or bar.start == end for bar in bars)
    # An open quote swallows the words after the cursor; the completion must not replace them.
    end = cursor if text.count('"', start, end) % 2 else end
    start = min(cursor, start + text[start:end].startswith("!"))
    before = text[:start][-1:]
    # After a closed group a space must come first.
    found: Iterable[Option] = ()
    if before != ")":
        found = _options(text[start:cursor], vocabulary, saved=alone and before != "!")
    return Completion(start, end, tuple(islice(found, _MAX_OPTIONS)))


def complete_order(text: str, cursor: int) -> Completion:
    """Return what an order may become; a ``-`` in front makes it descend."""
    typed = text[: max(0, cursor)]
    orders = words.ORDERS
    if typed.startswith("-"):
        orders = {f"-{name}": f"{note}, reversed" for name, note in orders.items()}
    return Completion(0, len(text), tuple(_matches(typed, orders.items())))


def _options(typed: str, vocabulary: Vocabulary, *, saved: bool) -> Iterator[Option]:
    name, colon, value = typed.partition(":")
    if colon and name in words.CHOICES:
        choices = words.CHOICES[name].items()
        yield from _matches(typed, ((f"{name}:{choice}", note) for choice, note in choices))
    elif colon and name in words.NAMED:
        wanted = value.replace('"', "").casefold()
        if name == "tag" and words.UNTAGGED.startswith(wanted):
            yield Option("tag:none", "no tag at all")
        known = {"tag": vocabulary.tags, "juror": vocabulary.jurors}.get(name, vocabulary.runs)
        within = [one for one in known if wanted in one.casefold()]
        # Names that begin with the typed text come first.
        for one in sorted(within, key=lambda one: not one.casefold().startswith(wanted)):
            if (typeable := condition(name, one)) is not None:
                yield Option(typeable, words.NAMED[name])
    elif not colon:
        starts = {words.short(flag): MEANINGS[flag] for flag in SHORT} | words.STATES | words.PANEL
        starts |= {f"{name}:": note for name, note in (words.HEADINGS | words.NAMED).items()}
        starts |= {f"{name}~": note for name, note in words.TEXTS.items()}
        starts |= {
            f"{name}{sign}": f"{note}: {meaning}"
            for name, note in words.NUMBERS.items()
            for sign, meaning in words.OPERATORS.items()
        }
        if saved:
            starts |= {f"@{name}": text for name, text in vocabulary.filters.items()}
        yield from _matches(typed, starts.items())


def condition(name: str, value: str) -> str | None:
    """Return the condition that a fact has this value; ``None`` if it cannot be written."""
    if not value or '"' in value or not value.isprintable():
        return None
    plain = not set(value) & set(" |()") and (name, value) != ("tag", words.UNTAGGED)
    return f"{name}:{value}" if plain else f'{name}:"{value}"'


def _matches(typed: str, options: Iterable[tuple[str, str]]) -> Iterator[Option]:
    return (Option(*one) for one in options if one[0].lower().startswith(typed.lower()))
