"""Write documents as Markdown, such as the overview of a run for a pull request."""

import re
from collections.abc import Iterator
from functools import partial

from reviewdesk.domain.safetext import show, show_line
from reviewdesk.views.document import (
    Block,
    Document,
    Facts,
    Flow,
    Paragraph,
    Quote,
    Table,
    Tone,
    Words,
    plain,
    spans,
)
from reviewdesk.views.overview import RunOverview, short_overview
from reviewdesk.views.run import title


def page(found: RunOverview) -> str:
    """Return the overview of a run: a few lines, and a table of what the judge got wrong."""
    lines = [f"### {code(title(found.details.run).text, 300)}", ""]
    lines += document_markdown(short_overview(found))
    return "\n".join(lines).rstrip() + "\n"


_BOLD = {Tone.STRONG, Tone.WARN, Tone.FAIL, Tone.BIG_FAIL, Tone.BIG_PASS, Tone.BIG_WARN}


def document_markdown(document: Document, level: int = 3) -> Iterator[str]:
    """Yield the lines of a document; ``level`` is that of its headings."""
    for section in document.every:
        if section.title:
            note = f" ({_inline(section.note)})" if plain(section.note) else ""
            yield f"{'#' * level} {escaped(section.title)}{note}"
            yield ""
        for one in section.blocks:
            if lines := [*_lines(one)]:
                yield from [*lines, ""]


def _inline(words: Words, *, bold: bool = True, cell: bool = False) -> str:
    """Return a text on one line: our words escaped, text from outside as code."""
    return "".join(
        code(span.text, cell=cell)
        if span.outside
        else _strong(escaped(span.text))
        if bold and span.tone in _BOLD
        else escaped(span.text)
        for span in spans(words)
    )


_cell = partial(_inline, cell=True)


def _strong(text: str) -> str:
    """Return bold text; spaces at its ends stay outside, where Markdown wants them."""
    inner = text.strip()
    return text.replace(inner, f"**{inner}**", 1) if inner else text


def _lines(one: Block) -> Iterator[str]:
    """Yield the lines of a block; a figure has none, as a table next to it has its numbers."""
    match one:
        case Paragraph():
            whole = one.tone in _BOLD and not any(span.outside for span in spans(one.text))
            text = _inline(one.text, bold=not whole)
            yield started(f"{_inline(one.lead).strip()} {_strong(text) if whole else text}")
        case Facts():
            for fact in one.rows:
                mark = "" if fact.mark is None else fact.mark.text.lstrip()
                name = f"**{escaped(fact.name.strip())}**: " if fact.name else ""
                yield f"- {started(mark + name + _inline(fact.text))}"
        case Flow():
            yield started(" · ".join(map(_inline, one.groups)))
        case Quote():
            if lead := _inline(one.lead).strip():
                yield f"{started(lead)}\n"
            shown = show(one.text, one.limit)
            # No run of ticks in the text is as long as the fence, so that none closes it.
            fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(shown)), default=0))
            yield f"{fence}text\n{shown}\n{fence}"
        case Table():
            yield from _table(one)


def _table(one: Table) -> Iterator[str]:
    """Yield a table; texts that other formats put below a row get their own column."""
    below = any(row.below for row in one.rows)
    heads = [_cell(one.title or one.columns[0].title)]
    heads += [*(_cell(column.title) for column in one.columns[1:]), *[""] * below]
    rows = [
        [
            ("" if row.mark is None else escaped(row.mark.text.lstrip())) + _cell(row.cells[0]),
            *map(_cell, row.cells[1:]),
            *[" ".join(map(_quoted, row.below))] * below,
        ]
        for row in one.rows
    ]
    rule = [*("--:" if column.right else "---" for column in one.columns), *["---"] * below]
    for cells in (heads, rule, *rows):
        yield f"| {' | '.join(cells)} |"


def _quoted(one: Quote) -> str:
    """Return a text of several lines in one cell of a table."""
    lines = show(one.text, one.limit).split("\n")
    quoted = (code(line, cell=True) for line in lines if line.strip())
    return " ".join(filter(None, (_cell(one.lead).strip(), *quoted)))


_TICKS = re.compile("`+")
_MARKUP = re.compile(r"[\\`*_\[\]<>|#~]")
_BULLET = re.compile(r"^(\d*)([-+.)])(?=\s|$)")
_PIPE = re.compile(r"\\*\|")


def code(text: str, limit: int = 20_000, *, cell: bool = False) -> str:
    """Return a text from outside on one line, as a code span that may stand in a table's cell."""
    shown = show_line(text, limit)
    if not shown.strip():
        return "-"
    fence = "`" * (max(map(len, _TICKS.findall(shown)), default=0) + 1)
    if shown[0] in "` " or shown[-1] in "` ":
        shown = f" {shown} "
    return f"{fence}{_PIPE.sub(_cell_safe, shown) if cell else shown}{fence}"


def escaped(text: str) -> str:
    """Return our own words, with every sign escaped that Markdown would read as markup."""
    return _MARKUP.sub(r"\\\g<0>", show_line(text, 20_000))


def started(text: str) -> str:
    """Return Markdown for the start of a line or point; its first sign never starts a list."""
    return _BULLET.sub(r"\g<1>\\\g<2>", text.strip(), count=1)


def _cell_safe(found: re.Match[str]) -> str:
    r"""Escape a pipe for a table cell; a space keeps backslashes before it from escaping ``\|``."""
    slashes = found[0][:-1]
    return f"{slashes} \\|" if slashes else "\\|"
