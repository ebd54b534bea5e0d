"""Inks for texts: prose with Markdown, diffs, JSON and code."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from msgspec import Struct

from reviewdesk.app.texts.kinds import TextKind, fence_kind
from reviewdesk.app.theme.inks import Ink

Span: TypeAlias = tuple[int, int, str]
"""Start and end of some characters, and their ink."""


class InkedText(Struct, frozen=True):
    """A sanitised text, its inks in order, and the indentation of its folded lines."""

    text: str
    spans: tuple[Span, ...] = ()
    hang: re.Pattern[str] | None = None
    """Its match at the start of a line is as long as the indentation of the continuation."""
    extra: int = 0
    """Additional cells of indentation of a continuation."""


class InkedLine(Struct, frozen=True):
    """One line of an inked text."""

    text: str
    spans: tuple[Span, ...]
    hang: int


def rows(inked: InkedText) -> Iterator[InkedLine]:
    """Yield the lines of a text, each with its inks, in one pass."""
    start = 0
    at = 0
    spans = inked.spans
    for text in inked.text.split("\n"):
        end = start + len(text)
        mine = []
        while at < len(spans) and spans[at][0] < end:
            first, last, ink = spans[at]
            if last > start:
                mine.append((max(first, start) - start, min(last, end) - start, ink))
            if last > end:
                break
            at += 1
        found = inked.hang.match(text) if inked.hang else None
        hang = found.end() + inked.extra if found else 0
        yield InkedLine(text, tuple(mine), hang)
        start = end + 1


INDENT = re.compile(r" *")
_CONTINUED = 2

_HASH = r"#[^\n]*"
_SLASHES = r"//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)"
_DASHES = r"--[^\n]*|/\*[\s\S]*?(?:\*/|\Z)"
_LINE_STRING = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"?' + r"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'?"
_LONG_STRING = r'"""[\s\S]*?(?:"""|\Z)' + r"|'''[\s\S]*?(?:'''|\Z)"
_TEMPLATE = r"`[^`\\]*(?:\\[\s\S][^`\\]*)*`?"
_CHARACTER = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"?' + r"|'(?:\\[^\n]{1,9}?|[^'\\\n])'|`[^`]*`?"
"""Strings where a lone apostrophe is a lifetime or a label, not the start of a string."""

_NOTES = {
    TextKind.PYTHON: (_HASH, _LONG_STRING + "|" + _LINE_STRING),
    TextKind.SCRIPT: (_SLASHES, _LINE_STRING + "|" + _TEMPLATE),
    TextKind.BRACES: (_SLASHES, _CHARACTER),
    TextKind.SQL: (_DASHES, _LINE_STRING),
    TextKind.SHELL: (r"(?<![^\s;])#[^\n]*", _LINE_STRING),
    TextKind.CONFIG: (r"(?<!\S)[#;][^\n]*", _LINE_STRING),
}
_WORDS = {
    TextKind.PYTHON: """
        and as assert async await begin break case class continue def del do elif else elsif
        end ensure except finally for from global if import in is lambda match module
        nonlocal not or pass raise rescue return self super try unless until when while with
        yield
    """,
    TextKind.SCRIPT: """
        abstract as async await break case catch class const continue debugger declare
        default delete do else enum export extends finally for from function if implements
        import in instanceof interface keyof let namespace new of private protected public
        readonly return static super switch this throw try type typeof var void while with
        yield
    """,
    TextKind.BRACES: """
        abstract as async auto await bool break byte case catch chan char class const
        continue default defer delete do double dyn else enum export extends extern final
        finally float fn for foreach func fun go goto guard if impl implements import in
        inline int interface internal is let long loop match mod move mut namespace new
        object operator override package private protected pub public range readonly ref
        return sealed select self short signed sizeof static string struct super switch
        template this throw throws trait try type typedef typename union unsafe unsigned use
        using val var virtual void volatile when where while yield
    """,
    TextKind.SQL: """
        add all alter and as asc avg begin between by case check column commit constraint
        count create cross database default delete desc distinct drop else end exists
        explain foreign from full group having if in index inner insert into is join key
        left like limit max min not offset on or order outer over partition primary
        recursive references returning right rollback select set sum table temp temporary
        then transaction truncate union unique update using values view when where window
        with
    """,
    TextKind.SHELL: """
        alias break case cd continue do done echo elif else esac eval exec exit export fi
        for function if in local read return set shift source sudo test then trap unset
        until while
    """,
    TextKind.CONFIG: "",
}
_CONSTANTS = frozenset(
    ["true", "false", "null", "none", "nil", "undefined", "nan", "inf", "infinity"]
)  # fmt: skip
_KEYWORDS = {kind: frozenset(words.split()) for kind, words in _WORDS.items()}
_NAMING = frozenset(["def", "class", "function", "func", "fn", "fun", "struct", "enum", "trait"])
_KEY = {TextKind.CONFIG: r"(?m:^[ \t]*(?:- )*)(?:\[[^\]\n]*\]|[\w.-]+(?=[ \t]*[:=]))"}
_NUMBER = r"(?<![\w.])(?:0[xXbBoO][0-9a-fA-F_]+|[0-9][0-9_]*(?:\.[0-9_]+)?(?:[eE][+-]?[0-9]+)?)\w*"

_MARKUP = re.compile(
    r"(?P<comment><!--[\s\S]*?(?:-->|\Z)|<!\[CDATA\[[\s\S]*?(?:\]\]>|\Z)|<[!?][^>]*>?)"
    r"|(?P<name></?[A-Za-z][\w:.-]*|(?<=[\s\w\"'/])/?>)"
    r"|(?P<string>(?<==)\"[^\"<]*\"?|(?<==)'[^'<]*'?)"
    r"|(?P<number>&(?:#?\w{1,32});)"
)
_CODE_INKS = {"comment": Ink.COMMENT, "string": Ink.STRING, "number": Ink.NUMBER, "name": Ink.NAME}


def code(text: str, kind: TextKind) -> InkedText:
    """Return a text of code with its inks."""
    return InkedText(text, tuple(code_spans(text, kind)), INDENT, _CONTINUED)


def code_spans(text: str, kind: TextKind) -> Iterator[Span]:
    """Yield the inks of a piece of code, in order."""
    if kind is TextKind.MARKUP:
        for match in _MARKUP.finditer(text):
            yield *match.span(), _CODE_INKS[match.lastgroup or "name"]
        return
    keywords = _KEYWORDS[kind]
    named = False
    for match in _pattern(kind).finditer(text):
        if match.lastgroup != "word":
            yield *match.span(), _CODE_INKS[match.lastgroup or "comment"]
            named = False
            continue
        word = match[0]
        lower = word.lower() if kind is TextKind.SQL else word
        if lower in keywords:
            yield *match.span(), Ink.KEYWORD
        elif lower.lower() in _CONSTANTS:
            yield *match.span(), Ink.NUMBER
        elif named:
            yield *match.span(), Ink.NAME
        named = word in _NAMING


@lru_cache(maxsize=16)
def _pattern(kind: TextKind) -> re.Pattern[str]:
    comment, string = _NOTES[kind]
    key = rf"|(?P<name>{_KEY[kind]})" if kind in _KEY else ""
    return re.compile(
        rf"(?P<comment>{comment})|(?P<string>{string}){key}|(?P<number>{_NUMBER})"
        r"|(?P<word>[^\W\d]\w*)"
    )


_INSIDE = r'[^"\\]*(?:\\.[^"\\]*)*(?:(?P<shut>")|(?P<lone>\\)?)'
_TOKEN = re.compile(r'"' + _INSIDE + r'|[{}\[\],:]|[^\s{}\[\],:"]+|\s+', re.DOTALL)
"""JSON tokens. A string that the page cuts off is one too, even within an escape."""
_REST = re.compile(_INSIDE, re.DOTALL)
_INLINE = 40
"""An array or object of at most this many characters stays on one line."""
_DEEPEST = 24
"""The deepest level that is indented further; deeper ones get the same indentation."""
_OPEN = ("{", "[")
_SHUT = ("}", "]")


def json_inked(shown: str, before: str = "", *, lay: bool) -> InkedText:
    """Ink a page of valid JSON that follows the text ``before``; ``lay`` indents it anew."""
    depth, tokens = _tokens(shown, before)
    if lay:
        tokens = _indented_tokens(tokens, depth)
    return InkedText("".join(tokens), tuple(_json_spans(tokens)), INDENT, 2)


def is_minified(text: str) -> bool:
    """Return True if the text has no line break, so that it needs indenting for reading."""
    return "\n" not in text.strip()


def _tokens(shown: str, before: str) -> tuple[int, list[str]]:
    """Return the depth where the page starts, and its tokens; the first may end a string."""
    depth = 0
    last = None
    for last in _TOKEN.finditer(before):
        depth += (last[0] in _OPEN) - (last[0] in _SHUT)
    tokens: list[str] = []
    if last and last[0].startswith('"') and not last["shut"]:
        escaped = 1 if last["lone"] else 0
        rest = _REST.match(shown, escaped)
        tokens.append(shown[: rest.end() if rest else escaped])
    start = len(tokens[0]) if tokens else 0
    tokens += [match[0] for match in _TOKEN.finditer(shown, start)]
    return max(0, depth), [token for token in tokens if token]


def _indented_tokens(tokens: Sequence[str], depth: int) -> list[str]:
    """Return the tokens with our own white space between them."""
    tokens = [token for token in tokens if not token.isspace()]
    inline = _one_line_ranges(tokens)
    laid: list[str] = []
    until = -1
    for at, token in enumerate(tokens):
        if token in _SHUT and at > until:
            depth = max(0, depth - 1)
            laid.append(_line_break(depth))
        laid.append(token)
        if token in _OPEN and at > until:
            until = inline.get(at, until)
            if at > until:
                depth += 1
                laid.append(_line_break(depth))
        elif token == "," and at > until:
            laid.append(_line_break(depth))
        elif token in {",", ":"}:
            laid.append(" ")
    return laid


def _one_line_ranges(tokens: Sequence[str]) -> dict[int, int]:
    """Return the closing token's index for each short array or object, by its opening token's."""
    found: dict[int, int] = {}
    opened: list[tuple[int, int]] = []
    size = 0
    for at, token in enumerate(tokens):
        if token in _OPEN:
            opened.append((at, size))
        size += len(token) + (token in {",", ":"})
        if token in _SHUT and opened:
            start, before = opened.pop()
            if size - before <= _INLINE:
                found[start] = at
    return found


def _line_break(depth: int) -> str:
    return "\n" + "  " * min(depth, _DEEPEST)


def _json_spans(tokens: Sequence[str]) -> list[Span]:
    """Return the inks of keys, strings and other values. The first token may end a string."""
    spans: list[Span] = []
    solid: list[tuple[int, str]] = []
    at = 0
    for token in tokens:
        if not token.isspace():
            solid.append((at, token))
        at += len(token)
    for (start, token), (_, after) in pairwise([*solid, (at, "")]):
        if '"' in token:
            ink = Ink.NAME if after == ":" else Ink.STRING
            spans.append((start, start + len(token), ink))
        elif token not in {*_OPEN, *_SHUT, ",", ":"}:
            spans.append((start, start + len(token), Ink.NUMBER))
    return spans


_HANG = re.compile(r" *(?:(?:[-*+•]|\d{1,3}[.)]|>)(?: +|$))*")
_DIFF_HANG = re.compile(r"[-+]? *")

_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,}) *(?P<word>[^\s`{]*)[^\n`]*$", re.MULTILINE)
_PROSE = re.compile(
    r"(?P<strong>^ {0,3}#{1,6} [^\n]+|\*\*(?=[^\s*])[^*\n]+(?<=\S)\*\*)"
    r"|(?P<emphasis>(?<![\w*])\*(?=[^\s*])[^*\n]+(?<=\S)\*(?![\w*])"
    r"|(?<![\w_])_(?=[^\s_])[^_\n]+(?<=\S)_(?!\w))"
    r"|(?P<code>`[^`\n]+`)"
    r"|(?P<muted>^ *(?:[-*+•]|\d{1,3}[.)])(?= )|^ {0,3}(?:>+|[-*_]{3,}$))",
    re.MULTILINE,
)
_INKS = {"strong": Ink.STRONG, "emphasis": Ink.EMPHASIS, "code": Ink.CODE, "muted": Ink.MUTED}

_DIFF_START = re.compile(r"^(?:diff --git |Index: |--- \S)", re.MULTILINE)
_DIFF_LINE = re.compile(
    r"^(?:(?P<head>(?:diff|index|Index:|---|\+\+\+|new|deleted|rename|similarity) [^\n]*)"
    r"|(?P<hunk>@@[^\n]*)|(?P<added>\+[^\n]*)|(?P<gone>-[^\n]*)|(?P<note>\\ [^\n]*))$",
    re.MULTILINE,
)
_DIFF_INKS = {
    "head": Ink.STRONG,
    "hunk": Ink.KEYWORD,
    "added": Ink.PASS,
    "gone": Ink.FAIL,
    "note": Ink.MUTED,
}


_SET = ("|", "    ", "\t")
"""How lines begin whose columns have a meaning: those of tables and of indented code."""


def text_inked(shown: str, before: str = "") -> InkedText:
    """Ink prose or Markdown. A fence left open in the text ``before`` goes on."""
    return InkedText(shown, tuple(_text_spans(shown, before)), _HANG)


def diff_inked(shown: str, *, started: bool = False) -> InkedText:
    """Ink a unified diff, with prose before its first header unless it ``started`` earlier."""
    found = None if started else _DIFF_START.search(shown)
    start = found.start() if found else 0
    spans = [*_prose(shown, 0, start), *_diff(shown, start)]
    return InkedText(shown, tuple(spans), _DIFF_HANG, 1)


def _text_spans(text: str, before: str) -> Iterator[Span]:
    at = 0
    opened = _open_fence(before)
    if opened:
        at = yield from _fence_spans(text, 0, *opened)
    while at < len(text):
        fence = _FENCE.search(text, at)
        yield from _prose(text, at, fence.start() if fence else len(text))
        if not fence:
            return
        yield fence.start(), fence.end(), Ink.MUTED
        at = yield from _fence_spans(text, fence.end(), fence["fence"], fence["word"])


def _fence_spans(text: str, start: int, mark: str, word: str) -> Generator[Span, None, int]:
    """Yield the inks of the block from ``start``, and return where the prose goes on."""
    shut = re.compile(rf"^ {{0,3}}{mark[0]}{{{len(mark)},}} *$", re.MULTILINE).search(text, start)
    end = shut.start() if shut else len(text)
    body = text[start:end]
    for first, last, ink in _block(body, fence_kind(word, body)):
        yield start + first, start + last, ink
    if shut:
        yield shut.start(), shut.end(), Ink.MUTED
    return shut.end() if shut else len(text)


def _block(body: str, kind: TextKind) -> Iterator[Span]:
    if kind is TextKind.JSON:
        yield from json_inked(body, lay=False).spans
    elif kind is TextKind.DIFF:
        yield from _diff(body, 0)
    elif kind is not TextKind.TEXT:
        yield from code_spans(body, kind)


def prose_rows(texts: Iterable[str], before: str = "") -> Iterator[bool]:
    """Yield for each line whether it is prose: not in or of a fence, no table, not indented."""
    opened = _open_fence(before)
    for text in texts:
        fence = _FENCE.match(text)
        if fence and opened is None:
            opened = fence["fence"], fence["word"]
            yield False
            continue
        yield opened is None and not text.startswith(_SET)
        if fence and opened and not fence["word"] and fence["fence"].startswith(opened[0]):
            opened = None


def _open_fence(before: str) -> tuple[str, str] | None:
    """Return mark and word of the fence that a text leaves open, or None."""
    opened: tuple[str, str] | None = None
    for fence in _FENCE.finditer(before):
        if opened is None:
            opened = fence["fence"], fence["word"]
        elif not fence["word"] and fence["fence"].startswith(opened[0]):
            opened = None
    return opened


def _prose(text: str, start: int, end: int) -> Iterator[Span]:
    for match in _PROSE.finditer(text, start, end):
        yield *match.span(), _INKS[match.lastgroup or "muted"]


def _diff(text: str, start: int) -> Iterator[Span]:
    for match in _DIFF_LINE.finditer(text, start):
        yield *match.span(), _DIFF_INKS[match.lastgroup or "note"]
