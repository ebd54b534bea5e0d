"""Recognise the kind of a text by a few careful signs. In doubt, a text is prose."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from functools import cache, lru_cache

_HEAD = 20_000
"""How many characters from the start of a text are searched for signs."""
_LONGEST_JSON = 2_000_000


class TextKind(StrEnum):
    """The kind of a text, which decides how it is inked and folded."""

    TEXT = "text"
    """Prose and Markdown."""
    JSON = "json"
    DIFF = "diff"
    MARKUP = "markup"
    PYTHON = "python"
    SCRIPT = "script"
    """JavaScript and TypeScript."""
    SQL = "sql"
    SHELL = "shell"
    BRACES = "braces"
    """C, C++, Java, C#, Go, Rust and similar languages."""
    CONFIG = "config"
    """YAML, TOML and INI, which only the word at a fence identifies."""


_ALIASES = {
    TextKind.JSON: "json json5 jsonc jsonl ndjson",
    TextKind.DIFF: "diff patch udiff",
    TextKind.MARKUP: "xml html xhtml svg vue htm",
    TextKind.PYTHON: "python py python3 pycon ipython ruby rb",
    TextKind.SCRIPT: "javascript js typescript ts jsx tsx node mjs",
    TextKind.SQL: "sql mysql postgres postgresql plsql sqlite tsql",
    TextKind.SHELL: "bash sh shell zsh console shell-session powershell fish dockerfile makefile r",
    TextKind.BRACES: (
        "c cpp c++ cc h java c# cs csharp go golang rust rs kotlin kt swift php scala css"
    ),
    TextKind.CONFIG: "yaml yml toml ini cfg conf properties",
}  # fmt: skip
_FENCE_KINDS = {name: kind for kind, names in _ALIASES.items() for name in names.split()}

_STRONG = {
    TextKind.PYTHON: (
        r"(?:async )?def \w+\(",
        r"class \w+(?:\([\w., =]*\))?:",
        r"from [\w.]+ import [\w*(]",
        r"import \w[\w.]*(?: as \w+)?(?:, ?\w[\w.]*(?: as \w+)?)*[ \t]*(?:#.*)?$",
        r"if __name__ ==",
        r">>> ",
    ),
    TextKind.SCRIPT: (
        r"(?:export )?(?:default )?(?:async )?function\*? ?\w* ?\(",
        r"(?:export )?(?:const|let|var) [\w$]+(?:: ?[\w<>\[\], |]+)? = .*[;{(\[,][ \t]*$",
        r"(?:export )?(?:const|let|var) [{\[][\w$, :]*[}\]] = ",
        r"import .* from ['\"]",
        r"export (?:default|const|class|interface|type)\b",
        r"(?:export )?interface \w+(?: extends [\w, ]+)? \{",
        r"console\.\w+\(.*\);?[ \t]*$",
        r".*=> ?[{(][ \t]*$",
    ),
    TextKind.BRACES: (
        r"# ?include ?[<\"]",
        r"(?:public|private|protected|static|abstract)(?: \S+)*?(?: \w+\(| \S+ \w+ ?[=;{])",
        r"(?:const )?(?:int|void|char|float|double|bool|long|unsigned|auto|String)\b[^(=;\n]+[=(;]",
        r"package [\w.]+;?[ \t]*$",
        r"func (?:\([\w *]+\) )?\w+\(",
        r"(?:pub(?:\(crate\))? )?(?:async )?fn \w+[<(]",
        r"using (?:namespace )?[\w.]+;",
        r"(?:let mut|impl|struct|enum|trait|namespace) [\w<> ]+",
    ),
}  # fmt: skip
_LINE_ENDS = re.compile(r"[;{}][ \t]*$", re.MULTILINE)
_SQL = re.compile(
    r"(?:SELECT\b[^;]*\bFROM\b|INSERT INTO |UPDATE [\w.\"`]+ SET |DELETE FROM |ALTER TABLE "
    r"|(?:CREATE|DROP) (?:OR REPLACE |UNIQUE |TEMP(?:ORARY)? )?(?:TABLE|VIEW|INDEX) "
    r"|WITH (?:RECURSIVE )?\w+ AS \()"
)
_SHEBANG = re.compile(r"#!\s*/\S*(?:[ /](?P<python>python[\d.]*)|[ /](?:ba|da|z|k)?sh)\b")
_PROMPT = re.compile(r"\$ [a-z./~]")
_DIFF_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.MULTILINE)
_DIFF_HEAD = re.compile(r"^(?:diff --git |--- \S)", re.MULTILINE)
_MARKUP = re.compile(r"<(?:\?xml\b|!doctype\b|!--|([a-z][\w:.-]*)[\s/>])", re.IGNORECASE)
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)

_ASIDE = re.compile(
    r'"""[\s\S]*?(?:"""|\Z)' + r"|'''[\s\S]*?(?:'''|\Z)" + r"|/\*[\s\S]*?(?:\*/|\Z)"
    r'|"[^"\n]*"|^[ \t]*(?:#|//|--).*|[ \t](?:#|//|--)[ \t].*',
    re.MULTILINE,
)
"""Comments and strings of code, which may hold prose."""
_LIST_ITEM = re.compile(r"(?:[-*•]|\d{1,3}[.)]) \w")
_STATEMENT = re.compile(
    r"(?:from [\w.]+ import\b|import [\w., ]+$|(?:return|yield|raise|throw|del|global|assert)\b"
    r"|(?:if|elif|while|with|for|class|async|else if)\b.*:$)"
)
_CODE_MARK = re.compile(r"[=(){}\[\]<>;|\\+*/@$]|\w\.\w|->")
_SENTENCE = re.compile(r"[A-Z“'(][\w’'-]*,?(?: [\w’'(),:–-]+){6,}[.?!:]?$")
_WORD_RUN = re.compile(r"[^\W\d_a-zA-Z]{8}")
"""Eight letters that are not ASCII: code is not written in such scripts."""


@lru_cache(maxsize=64)
def kind_of(text: str) -> TextKind:
    """Return the kind of a whole text."""
    text = text.strip()
    if is_json(text):
        return TextKind.JSON
    head = text[:_HEAD].replace("\r\n", "\n")
    if _DIFF_HUNK.search(head) and _DIFF_HEAD.search(head):
        return TextKind.DIFF
    if _is_markup(head, text):
        return TextKind.MARKUP
    if _FENCE.search(head):
        return TextKind.TEXT
    return _code_kind(head)


def fence_kind(word: str, body: str) -> TextKind:
    """Return the kind of a fenced block, by the word at its fence or, without one, by its signs."""
    return _FENCE_KINDS.get(word.lower(), TextKind.TEXT) if word else kind_of(body)


def is_json(text: str) -> bool:
    """Return True if the text is one whole JSON array or object."""
    if not (text[:1] in ("{", "[") and text[-1:] in ("}", "]") and len(text) <= _LONGEST_JSON):
        return False
    try:
        # Numbers are not needed, and int refuses long ones.
        json.loads(text, parse_int=len, parse_float=len)
    except (ValueError, RecursionError):
        return False
    return True


def _is_markup(head: str, text: str) -> bool:
    """Whether the text is one element or document, from the first character to the last."""
    found = _MARKUP.match(head)
    if not found or not text.endswith(">"):
        return False
    name = found[1]
    return name is None or text.endswith((f"</{name}>", "/>")) or "</" in text[-200:]


def _code_kind(head: str) -> TextKind:
    shebang = _SHEBANG.match(head)
    if shebang:
        return TextKind.PYTHON if shebang["python"] else TextKind.SHELL
    if _SQL.match(head) and re.search(r"[=*;(]", head) and not _has_prose(head):
        return TextKind.SQL
    lines = [line for line in head.split("\n") if line.strip()]
    if _PROMPT.match(head) and all(line.startswith(("$ ", "> ", "#")) for line in lines):
        return TextKind.SHELL
    if len(lines) < 2 or _has_prose(head):
        return TextKind.TEXT
    counts = {kind: sum(1 for _ in signs.finditer(head)) for kind, signs in _signs().items()}
    kind = max(counts, key=lambda name: counts[name])
    if not counts[kind]:
        return TextKind.TEXT
    if kind is not TextKind.PYTHON and not _LINE_ENDS.search(head):
        return TextKind.TEXT
    return kind


@cache
def _signs() -> dict[TextKind, re.Pattern[str]]:
    """Return the signs of each kind of code, which most texts, being prose, do not need."""
    return {
        kind: re.compile(r"^[ \t]*(?:" + "|".join(signs) + ")", re.MULTILINE)
        for kind, signs in _STRONG.items()
    }


def _has_prose(head: str) -> bool:
    return any(_is_prose(line.rstrip()) for line in _ASIDE.sub("", head).split("\n"))


def _is_prose(line: str) -> bool:
    if line[:1] in ("", " ", "\t"):
        # An indented line continues one that is not indented.
        return False
    if _LIST_ITEM.match(line) or _WORD_RUN.search(line):
        return True
    if line.count(" ") < 3 or _STATEMENT.match(line):
        return False
    return bool(not _CODE_MARK.search(line) or _SENTENCE.match(line))
