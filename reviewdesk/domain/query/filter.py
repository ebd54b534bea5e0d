"""The language of filters, orders and searches: pieces, meanings, and what can be typed next."""

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice

from msgspec import Struct

from reviewdesk.domain.assessment.result import MEANINGS, SHORT, Flag
from reviewdesk.domain.query import words
from reviewdesk.errors import UsageError

_PIECE = re.compile(r'"([^"]*)"|([^\s"]+)')
_UNSPACED = (
    "[\u2e80-\u2fd5\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3040-\u30ff\u3105-\u312f"
    "\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\uff66-\uff9f\U00016fe0-\U00018cff\U0001aff0-\U0001b2ff\U00020000-\U0003ffff]"
)
"""Ideographs, kana, bopomofo and hangul syllables; compiled when a text is searched for."""
_UNINDEXABLE = re.compile("[\x00\ud800-\udfff]")
"""A NUL ends a text for some of SQLite's functions, and a lone surrogate is not a character."""


class SearchTerm(Struct, frozen=True):
    """One text that must occur: a word (of which the ``beginning`` is enough) or a phrase."""

    text: str
    beginning: bool


def parse_search(text: str) -> tuple[SearchTerm, ...]:
    """Parse a search; raise UsageError if it names no word."""
    found = tuple(
        SearchTerm(spaced(quoted or word), bool(word))
        for quoted, word in _PIECE.findall(text)
        if _has_word(quoted or word)
    )
    if not found:
        raise UsageError(
            "there is no word to search for", 'Give words, or "several in quotes" for a phrase.'
        )
    return found


def search_words(text: str) -> list[str]:
    """Return the words of a search, as typed and without repeats, for highlighting on a screen."""
    found: dict[str, None] = {}
    for quoted, word in _PIECE.findall(text):
        for piece in quoted.split() if quoted else [word]:
            inside = [place for place, char in enumerate(piece) if char.isalnum()]
            if _has_word(piece):
                found[piece[inside[0] : inside[-1] + 1] if inside else piece] = None
    return list(found)


def spaced(text: str) -> str:
    """Return a text as it is indexed and looked up: in form NFKC, with spaces around CJK signs."""
    if text.isascii():
        return text.replace("\x00", " ")
    return re.sub(_UNSPACED, r" \g<0> ", unicodedata.normalize("NFKC", _UNINDEXABLE.sub(" ", text)))


def _has_word(text: str) -> bool:
    return any(char.isalnum() for char in spaced(text))


RULE = "a space is and, ! not, | or (binds tighter), ( ) group"
"""How the words of a filter are combined, as shown to users."""
EXAMPLE = "esc|bias !(mark note)"
HELP = f"{RULE}\n{EXAMPLE} keeps (esc or bias) and not (mark and note)"


_SIGN = re.compile(r" +|\||!?\(|\)")
_END = "end"


class Token(Struct, frozen=True):
    """One token and its place; a ``(`` that is negated begins at its ``!``."""

    sign: str
    """A space, ``|``, ``(`` or ``)``; empty for a word."""
    start: int
    end: int
    unclosed: int | None = None
    """The place of a parenthesis that a word opens and does not close."""


def tokens(text: str) -> list[Token]:
    """Split a filter into its tokens; each begins where the one before it ends."""
    found: list[Token] = []
    while (place := found[-1].end if found else 0) < len(text):
        sign = _SIGN.match(text, place)
        found.append(_word(text, place) if sign is None else Token(sign[0][-1], *sign.span()))
    return found


def _word(text: str, start: int) -> Token:
    """Read a word; quotes hide all signs, and ``f(x)`` keeps its own parentheses."""
    quoted = False
    opened: list[int] = []
    end = start
    for char in text[start:]:
        quoted ^= char == '"'
        if not quoted:
            if char in " |" or (char == ")" and not opened):
                break
            if char == "(":
                opened.append(end)
            elif char == ")":
                opened.pop()
        end += 1
    return Token("", start, end, opened[-1] if opened else None)


ORDERS = tuple(words.ORDERS)
MIXED = "mix"
"""The order of a blind queue: the seeded permutation of the draw, without the strata."""
_OPEN_KINDS = frozenset({"text", "state", "tag", "juror", "run"})
"""Conditions that do not depend on a panel's answer."""

_FLAGS = (
    {flag.label: flag for flag in Flag}
    | {words.short(flag).replace("-", "_"): flag for flag in SHORT}
    # Saved filters may use an older short name of the flag.
    | {"low": Flag.DERIVED_LOW}
)
_CONDITION = re.compile(r'([^~:<>="]*)(~|:|<=|>=|<|>|=)(.*)', re.DOTALL)


class FilterError(UsageError):
    """The error of a filter that cannot be read; ``column`` counts from 0."""

    def __init__(self, message: str, column: int, hint: str = "") -> None:
        self.column = column
        super().__init__(f"filter, column {column + 1}: {message}", hint)


@dataclass(frozen=True, slots=True)
class Term:
    """One condition; ``kind`` says what reads it, ``column`` where its value starts."""

    kind: str
    name: str
    op: str
    value: str
    negated: bool
    column: int = field(default=0, compare=False)


class Nested(Struct, frozen=True):
    """A filter in parentheses, or a saved filter, as one part of another filter."""

    filter: "Filter"
    negated: bool


Part = Term | Nested


class Filter(Struct, frozen=True):
    """A filter: every group must hold, and a group holds if any one of its parts does."""

    groups: tuple[tuple[Part, ...], ...]

    def terms(self) -> Iterator[Term]:
        """Yield every condition, those in parentheses included, in the order of the text."""
        for part in (part for group in self.groups for part in group):
            if isinstance(part, Term):
                yield part
            else:
                yield from part.filter.terms()

    @property
    def hidden(self) -> bool:
        return any(term.kind not in _OPEN_KINDS and term.name != "label" for term in self.terms())

    @property
    def decided(self) -> bool:
        """Whether only labelled verdicts can match, as with ``wrong`` or ``label:fail``."""
        return any(all(map(_needs_label, group)) for group in self.groups)

    @property
    def searches(self) -> bool:
        return any(term.kind == "words" for term in self.terms())


def _needs_label(part: Part) -> bool:
    if isinstance(part, Nested):
        return not part.negated and part.filter.decided
    if part.name == "label":
        return part.negated is (part.value == "none")
    return part.name == "wrong" and not part.negated


def parse_filter(text: str) -> Filter:
    return _Reader(text).read()


def expand_filter(text: str, saved: Mapping[str, str]) -> str:
    """Return a filter with every word ``@name`` replaced by the saved filter of that name."""
    reader = _Reader(text, saved)
    reader.read()
    if (only := text.strip(" ")).startswith("@") and only[1:] in saved:
        return saved[only[1:]]
    expanded = []
    for token in reader.tokens:
        piece = text[token.start : token.end]
        before, at, name = piece.partition("@")
        if token.sign == " ":
            piece = " "
        elif at and before in {"", "!"}:
            piece = f"{before}({saved[name]})"
        expanded.append(piece)
    return "".join(expanded).strip(" ")


def parse_order(order: str) -> tuple[str, bool]:
    """Return an order's name, and whether ``-`` makes it descend; raise UsageError if unknown."""
    name = order.removeprefix("-")
    if name not in (*ORDERS, MIXED):
        known = f"Orders: {', '.join(ORDERS)}; - in front descends."
        raise UsageError(f"no order {order!r}", known)
    return name, order.startswith("-")


def hidden_order(order: str) -> bool:
    return parse_order(order)[0] not in {"draw", MIXED, "file", "id"}


DEEPEST = 50
"""The maximum nesting of parentheses: more than anybody reads, and far below the stack's limit."""


class _Reader:
    """Parses a filter from left to right; with ``saved``, ``@name`` stands for a saved filter."""

    def __init__(self, text: str, saved: Mapping[str, str] | None = None) -> None:
        if text.count('"') % 2:
            close = 'Close it with a second ".'
            raise FilterError("a quote is not closed", text.rindex('"'), close)
        self.text = text
        self.saved = saved
        self.tokens = [*tokens(text), Token(_END, len(text), len(text))]
        self._place = 0

    def read(self, depth: int = 0) -> Filter:
        """Parse the whole text, which is nested in ``depth`` parentheses."""
        found = self._filter(depth)
        if self._next.sign != _END:
            hint = "Take it away, open one before it, or put a text that holds it in quotes."
            raise FilterError("no parenthesis is open here", self._next.start, hint)
        return found

    @property
    def _next(self) -> Token:
        return self.tokens[self._place]

    def _take(self, sign: str) -> Token | None:
        token = self._next
        if token.sign != sign:
            return None
        self._place += 1
        return token

    def _filter(self, depth: int) -> Filter:
        groups = []
        self._take(" ")
        while self._next.sign not in (")", _END):
            parts: list[Part] = []
            while not parts or self._take("|"):
                parts.append(self._part(depth))
            groups.append(tuple(parts))
            if not self._take(" ") and self._next.sign not in (")", _END):
                raise FilterError("a space or | is missing here", self._next.start)
        return Filter(tuple(groups))

    def _part(self, depth: int) -> Part:
        if (word := self._take("")) is not None:
            return self._word(word, depth)
        if (opened := self._take("(")) is not None:
            column = opened.end - 1
            if depth >= DEEPEST:
                deep = f"parentheses are nested more than {DEEPEST} deep"
                raise FilterError(deep, column, "Use fewer of them.")
            found = self._filter(depth + 1)
            if (closed := self._take(")")) is None:
                raise FilterError("a parenthesis is not closed", column, "Close it with ).")
            if not found.groups:
                raise FilterError("a condition is missing here", closed.start, _hint())
            return Nested(found, negated=opened.end - opened.start > 1)
        column = self._next.start
        no_spaces = f"No spaces around |: esc|bias. {_hint()}"
        bar = self.text.startswith("|", column) or self.text[:column].endswith("|")
        raise FilterError("a condition is missing here", column, no_spaces if bar else _hint())

    def _word(self, token: Token, depth: int) -> Part:
        word = self.text[token.start : token.end]
        if token.unclosed is not None:
            hint = 'Close it with ), or put a text that holds it in quotes: test~"f(".'
            raise FilterError("a parenthesis is not closed", token.unclosed, hint)
        before, at, name = word.partition("@")
        if self.saved is None or not at or before not in {"", "!"}:
            return _term(word, token.start)
        column = token.start + len(before)
        if name not in self.saved:
            hint = f"Saved filters: {', '.join(sorted(self.saved)) or 'none'}."
            raise FilterError(f"no saved filter {name!r}", column, hint)
        try:
            found = _Reader(self.saved[name]).read(depth + 1)
        except FilterError as error:
            unusable = f"@{name} cannot be used here: {error.message}"
            raise FilterError(unusable, column, error.hint) from None
        return Nested(found, negated=bool(before))


def _term(part: str, column: int) -> Term:
    negated = part.startswith("!")
    body = part.removeprefix("!")
    column += negated
    if not body:
        raise FilterError("a condition is missing here", column, _hint())
    parted = _CONDITION.fullmatch(body)
    if parted is None:
        # The queue writes trim! for a dissent that was left out; it may be typed as it is read.
        name = body.lower().rstrip("!").replace("-", "_")
        for kind, names in (("panel", words.PANEL), ("state", words.STATES)):
            if name in names:
                return Term(kind, name, ":", "", negated, column)
        if (flag := _FLAGS.get(name)) is None:
            raise FilterError(f"no flag {body!r}", column, _hint(name))
        return Term("flag", flag.label, ":", str(flag.value), negated, column)
    name, op, value = parted.groups()
    place = column + parted.start(3)
    read, known, problem, heading = _READERS.get(op, _COMPARED)
    if name not in known:
        hint = _suggestion(name) or f"{heading}: {', '.join(known)}."
        raise FilterError(problem.format(name), column, hint)
    kind, name, value = read(name, value, place)
    return Term(kind, name, op, value, negated, place)


def _number(name: str, value: str, place: int) -> tuple[str, str, str]:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise FilterError(f"{value!r} is not a finite number", place, "Write score<.6.")
    return "number", name, repr(number)


def _match(name: str, value: str, place: int) -> tuple[str, str, str]:
    if name != "text":
        return "text", name, value.replace('"', "")
    try:
        parse_search(value)
    except UsageError as error:
        raise FilterError(error.message, place, error.hint) from None
    return "words", name, value


def _fact(name: str, value: str, place: int) -> tuple[str, str, str]:
    plain = value.replace('"', "")
    if name in words.NAMED:
        if not plain:
            raise FilterError(f"a {name} is missing here", place)
        # Without quotes the word means no tag; in quotes it is a tag of that name.
        if (name, value) == ("tag", words.UNTAGGED):
            return "state", "untagged", ""
        return name, name, plain
    choices = words.CHOICES[name]
    if plain.lower() not in choices:
        raise FilterError(f"no {name} {plain.lower()!r}", place, f"One of {', '.join(choices)}.")
    return "choice", name, plain.lower()


_COMPARED = (_number, tuple(words.NUMBERS), "{!r} is not a number to compare", "Numbers")
_READERS = {
    "~": (_match, tuple(words.TEXTS), "{!r} is not a text to look in", "Texts"),
    ":": (_fact, (*words.CHOICES, *words.NAMED), "no fact {!r}", "Facts"),
}
"""By sign: how a value is read, the names that may precede it, and the error for another name."""


def _suggestion(name: str) -> str:
    """Suggest a condition whose fact was probably meant; empty if no name is close."""
    ends = {name: f":{next(iter(values))}" for name, values in words.CHOICES.items()}
    for names, end in ((words.NAMED, ":NAME"), (words.NUMBERS, "<.6"), (words.TEXTS, "~word")):
        ends |= dict.fromkeys(names, end)
    near = get_close_matches(name[:40].lower(), ends, 1, 0.7)
    return f"Write {near[0]}{ends[near[0]]}." if near else ""


def _hint(word: str = "") -> str:
    """List what a condition may be, preceded by the word that was probably meant."""
    flags = sorted(words.short(flag) for flag in SHORT)
    near = get_close_matches(word[:40], [*flags, *words.STATES, *words.PANEL, *_FLAGS], 1, 0.7)
    meant = f"Did you mean {near[0]}? " if near else ""
    states = ", ".join(words.STATES)
    return (
        f"{meant}Flags: {', '.join(flags)}; {states}; "
        "or wrong, label:none, band:low, tag:x, score<.6, test~word."
    )


# What can be typed next


class Vocabulary(Struct, frozen=True):
    """The names of a desk that a filter may use."""

    tags: tuple[str, ...] = ()
    jurors: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    filters: Mapping[str, str] = {}


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
    for token in tokens(text):
        if not token.sign and token.start <= cursor <= token.end:
            start = token.start
            end = token.end
    # An open quote swallows the words after the cursor; the completion must not replace them.
    end = cursor if text.count('"', start, end) % 2 else end
    start = min(cursor, start + text[start:end].startswith("!"))
    # After a closed group a space must come first.
    closed = text[:start].endswith(")")
    found = () if closed else tuple(islice(_options(text[start:cursor], vocabulary), 100))
    return Completion(start, end, found)


def complete_order(text: str, cursor: int) -> Completion:
    """Return what an order may become; a ``-`` in front makes it descend."""
    typed = text[: max(0, cursor)]
    orders = words.ORDERS
    if typed.startswith("-"):
        orders = {f"-{name}": f"{note}, reversed" for name, note in orders.items()}
    return Completion(0, len(text), tuple(_matches(typed, orders.items())))


def _options(typed: str, vocabulary: Vocabulary) -> Iterator[Option]:
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
