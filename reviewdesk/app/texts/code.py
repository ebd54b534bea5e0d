"""Inks for code: comments, strings, numbers, keywords and names, by one pattern per family.

Every alternative consumes what it has scanned, closed or not, so that a hostile text takes no
longer than a normal one of the same length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from reviewdesk.app.texts.inked import InkedText, Span
from reviewdesk.app.texts.kinds import TextKind
from reviewdesk.app.theme.inks import Ink

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
_INKS = {"comment": Ink.COMMENT, "string": Ink.STRING, "number": Ink.NUMBER, "name": Ink.NAME}


def code(text: str, kind: TextKind) -> InkedText:
    """Return a text of code with its inks."""
    return InkedText(text, tuple(code_spans(text, kind)), INDENT, _CONTINUED)


def code_spans(text: str, kind: TextKind) -> Iterator[Span]:
    """Yield the inks of a piece of code, in order."""
    if kind is TextKind.MARKUP:
        for match in _MARKUP.finditer(text):
            yield *match.span(), _INKS[match.lastgroup or "name"]
        return
    keywords, named = _KEYWORDS[kind], False
    for match in _pattern(kind).finditer(text):
        if match.lastgroup != "word":
            yield *match.span(), _INKS[match.lastgroup or "comment"]
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
