"""Write a run as one HTML file without scripts, external resources or links that leave it.

All markup stands in ``templates/``. Their environment escapes every expression and makes its hidden
characters visible through ``domain/safetext``, so no text from outside is ever markup.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.jurors.facts import JurorsPage
from reviewdesk.domain.panel.rerun import FlipRate, RerunHistory
from reviewdesk.domain.records import Item
from reviewdesk.domain.run.details import RunDetails
from reviewdesk.domain.safetext import show
from reviewdesk.domain.stats.calibration_page import CalibrationPage, band, edges, place
from reviewdesk.domain.stats.figures import Target
from reviewdesk.domain.whatif.policies import WhatIfTable
from reviewdesk.views import verdict
from reviewdesk.views.calibration import calibration
from reviewdesk.views.document import Block, Section, Text, Tone, Words, outside, plain, spans
from reviewdesk.views.jurors import jurors, rates
from reviewdesk.views.reliability import reliability
from reviewdesk.views.run import run, title
from reviewdesk.views.whatif import what_if
from reviewdesk.views.words import moment, plural

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
_LONGEST = 20_000
_SIDE = 400.0
"""The side of the square that figures are drawn in."""


def page(found: RunPage, listed: Iterable[ListedVerdict]) -> Iterator[str]:
    """Yield the HTML file piece by piece; each verdict is rendered when it is reached."""
    return _TEMPLATES.get_template("page.html").generate(
        policy=POLICY,
        title=title(found.details.run).text,
        written_at=moment(found.written_at).text,
        parts=parts(found),
        listing=_listing_text(found),
        verdicts=map(_entry, listed),
    )


class _Entry(Struct, frozen=True):
    """A verdict of the page: its key facts in view, the rest in a block that opens."""

    name: str
    summary: tuple[Block, ...]
    more: str
    sections: tuple[Section, ...]


def _entry(listed: ListedVerdict) -> _Entry:
    item, history = listed
    jurors = plural(len(item.assessment.seats), "juror")
    reruns = f", {plural(len(history.reruns), 're-run')}" if history.reruns else ""
    return _Entry(
        name=outside(item.verdict.id).text,
        summary=verdict.summary(item),
        more=f"Texts and {jurors}{reruns}",
        sections=verdict.sections(item, history),
    )


def section_html(section: Section, level: int = 3) -> str:
    """Return one section as HTML; ``level`` is that of its heading."""
    blocks: Any = _TEMPLATES.get_template("blocks.html").module
    return str(blocks.section(section, level))


def _listing_text(found: RunPage) -> str:
    """Say which verdicts follow, and how many are left out."""
    every = found.details.run.verdicts
    left = every - found.listed
    if not every:
        return "The run has no verdicts."
    if not left:
        return f"All {plural(every, 'verdict')}, the flagged first, then the labelled."
    return (
        f"{found.listed:,} of {plural(every, 'verdict')}, the flagged first, then the labelled; "
        f"{left:,} are left out of this page and counted in every figure above it."
    )


def _harmless(value: object) -> Markup:
    """Return the value of an expression as HTML; markup comes from our own macros alone."""
    return value if isinstance(value, Markup) else _text(str(value))


def _text(text: str, limit: int = _LONGEST) -> Markup:
    return escape(show(text, limit))


def _words(words: Words, tone: Tone = Tone.TEXT) -> Markup:
    """Return a text of one line, each piece in its tone.

    It is no macro because a page holds a hundred of them for each verdict. Text from outside stands
    in ``bdi``, so that its direction does not turn the words around it.
    """
    return Markup("".join(map(_span, spans(words, tone))))  # noqa: S704 - _span escapes


def _span(span: Text) -> str:
    text = html.escape(show(span.text, _LONGEST))
    tag = "bdi" if span.outside else "span"
    if span.tone:
        return f'<{tag} class="{span.tone}">{text}</{tag}>'
    return f"<bdi>{text}</bdi>" if span.outside else text


_TEMPLATES = Environment(
    loader=PackageLoader("reviewdesk.pages"),
    autoescape=True,
    finalize=_harmless,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters |= {
    "words": _words,
    "plain": plain,
    "cut": _text,
    "sign": lambda mark: _words(mark) if mark is not None and mark.text.strip() else "",
    "beside": zip,
    "kind": lambda block: type(block).__name__,
    "units": lambda share: round(_SIDE * share, 1),
    "scored": lambda seats: [seat for seat in seats if seat.ballot.score is not None],
    "band": band,
    "edges": edges,
    "place": place,
}


class RunPage(Struct, frozen=True):
    """A run with all its figures; ``listed`` is the number of verdicts that the page shows."""

    details: RunDetails
    written_at: str
    calibration: CalibrationPage
    jurors: JurorsPage
    what_if: WhatIfTable
    flips: tuple[FlipRate, ...]
    listed: int


ListedVerdict: TypeAlias = tuple[Item, RerunHistory]
"""A verdict that a file lists, with its re-runs."""


class PagePart(Struct, frozen=True):
    """A part of a page under a heading of its own; ``name`` is what links to it."""

    name: str
    title: str
    sections: tuple[Section, ...]


def parts(found: RunPage) -> tuple[PagePart, ...]:
    """Return all that is said of a run. What a key switches on the screen stands side by side."""
    page = found.calibration
    every = jurors(found.jurors).every
    measured = page.calibration.labelled.n > 0
    seated = bool(found.jurors.jurors)
    figures = calibration(page, full=True).every
    such: tuple[Section, ...] = ()
    # Without a label in every group both targets have the intervals of the labels alone.
    if page.calibration.population is not None and page.telling():
        first = calibration(page, target=Target.ITEMS).every[1]
        such = (replace(first, title="For new items"),)
    drawn = reliability(page).every if measured else ()
    rated = [rates(found.jurors, Target.ITEMS)] if seated else []
    return (
        PagePart("run", "Run", run(found.details).every),
        PagePart("calibration", "Calibration", (*figures[:2], *such, *drawn, *figures[2:])),
        PagePart("jurors", "Jurors", (every[0], *rated, *every[1:])),
        PagePart("what-if", "What if", what_if(found.what_if).every),
    )
