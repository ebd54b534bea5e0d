"""Write a run as one HTML file without scripts, external resources or external links.

All markup is in ``templates/``. Their environment escapes every expression and makes its hidden
characters visible through ``domain/safetext``, so no text from outside is ever markup.
"""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from msgspec import Struct

from reviewdesk.domain.jurors.facts import JurorsPage
from reviewdesk.domain.panel.rerun import RerunHistory
from reviewdesk.domain.records import Item
from reviewdesk.domain.safetext import show
from reviewdesk.domain.stats.calibration_page import band, edges, place
from reviewdesk.domain.stats.figures import Fit, Target
from reviewdesk.domain.whatif import WhatIfTable
from reviewdesk.views import verdict
from reviewdesk.views.calibration import calibration, reliability
from reviewdesk.views.document import (
    Block,
    Document,
    Section,
    Text,
    Tone,
    Words,
    outside,
    plain,
    spans,
)
from reviewdesk.views.jurors import jurors, rates
from reviewdesk.views.overview import RunOverview, overview
from reviewdesk.views.run import run, title
from reviewdesk.views.whatif import what_if
from reviewdesk.views.words import decision, label, moment, plural

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
_LONGEST = 20_000
MOST_LISTED = 1_000
"""The most verdicts on a full page besides those that its overview names."""
_SIDE = 400.0
"""The side of the square that figures are drawn in."""


PagePart: TypeAlias = tuple[str, tuple[Section, ...]]
"""A part of the appendix: its heading, and what stands below it."""
ListedVerdict: TypeAlias = tuple[Item, RerunHistory]
"""A verdict that a file lists, with its re-runs."""


def page(
    about: RunOverview,
    others: int,
    listed: Iterable[ListedVerdict],
    appendix: Sequence[PagePart] = (),
) -> Iterator[str]:
    """Yield the HTML file of a run piece by piece; each verdict is rendered when it is reached.

    ``listed`` are the verdicts that the overview names, and ``others``. A page with an ``appendix``
    is a full page.
    """
    entries = (_entry(one, full=bool(appendix)) for one in listed)
    named = len(about.named)
    every = about.details.run.verdicts
    return _TEMPLATES.get_template("page.html").generate(
        policy=POLICY,
        title=title(about.details.run).text,
        written_at=moment(about.written_at).text,
        overview=overview(about).every,
        about=about,
        named_entries=islice(entries, named),
        listing=_listing_text(every, others + named, others, full=bool(appendix)),
        other_entries=entries,
        appendix=appendix,
    )


class _Entry(Struct, frozen=True):
    """A verdict of the page: its name and key facts, and what opens below them."""

    key: int
    name: str
    said: tuple[Words, ...]
    summary: tuple[Block, ...]
    sections: tuple[Section, ...]


def _entry(listed: ListedVerdict, *, full: bool) -> _Entry:
    """Return a verdict with its texts, then the jury; only a full page shows its figures."""
    item, history = listed
    every = [
        one for one in verdict.sections(item, history) if full or one.title not in verdict.FIGURES
    ]
    texts = verdict.TEXTS.values()
    named = item.verdict.test != item.verdict.id
    said: list[Words] = [outside(item.verdict.id)] if named else []
    said.append(("judge ", decision(item.row.decision)))
    if item.row.label:
        said.append(("label ", label(item.row.label)))
    return _Entry(
        key=item.row.key,
        name=outside(item.verdict.test).text,
        said=tuple(said),
        # The name of the test is the heading already.
        summary=verdict.summary(item)[named:],
        sections=tuple(sorted(every, key=lambda one: one.title not in texts)),
    )


def parts(about: RunOverview, found: JurorsPage, other: WhatIfTable) -> tuple[PagePart, ...]:
    """Return every figure of a run, its jurors, and what other rules would decide."""
    page = about.calibration
    figures = calibration(page, full=True).every
    bins = reliability(page).every[1:]
    every = jurors(found).every
    rated = [rates(found, Target.ITEMS)] if found.jurors else []
    return (
        ("Run", run(about.details).every),
        ("Calibration", (*figures, *bins)),
        ("Jurors", (every[0], *rated, *every[1:])),
        ("What if", what_if(other).every),
    )


def diagram_svg(fit: Fit, labels: int) -> str:
    """Return the reliability diagram as a self-contained SVG file."""
    return str(
        _TEMPLATES.get_template("diagram.svg").render(fit=fit, basis=plural(labels, "label"))
    )


def fragment(document: Document) -> str:
    """Return a document as HTML to embed in another page, such as a notebook.

    Its styles apply to nothing else on that page: they are nested, and ``&`` is its own box.
    """
    files = ("figures.css", "style.css")
    style = "".join(_TEMPLATES.get_template(file).render() for file in files)
    nested = Markup(re.sub(r":root|\bbody\b", "&", style))  # noqa: S704 - two files of our own
    template = _TEMPLATES.get_template("fragment.html")
    return template.render(style=nested, sections=document.every)


def _listing_text(every: int, shown: int, others: int, *, full: bool) -> str:
    """Say how many more verdicts the page has than it names, and where to find the rest."""
    if not every:
        return "The run has no verdicts."
    if not full:
        more = "them" if every <= MOST_LISTED else f"up to {MOST_LISTED:,} of them"
        return (
            f"{plural(others, 'more flagged verdict')}. The other {every - shown:,} of "
            f"{plural(every, 'verdict')} are not on this page: reviewdesk export html --full adds "
            f"{more}, with every figure in an appendix."
        )
    if shown == every:
        return f"All {plural(every, 'verdict')} are on this page."
    return (
        f"{shown:,} of {plural(every, 'verdict')} are on this page, the flagged first, then the "
        "labelled. Every figure counts the others too; reviewdesk export report writes all of them."
    )


def _text(text: str, limit: int = _LONGEST) -> Markup:
    return escape(show(text, limit))


def _words(words: Words, tone: Tone = Tone.TEXT) -> Markup:
    """Return a text of one line, each piece in its tone.

    It is not a macro because a page has a hundred such texts per verdict. Text from outside is in
    ``bdi``, so that its direction does not affect the words around it.
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
    # Only our own macros return markup.
    finalize=lambda value: value if isinstance(value, Markup) else _text(str(value)),
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
