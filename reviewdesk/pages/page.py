"""Write a run as one HTML file without scripts, external resources or links that leave it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reviewdesk.pages import words
from reviewdesk.pages.blocks import paragraph
from reviewdesk.pages.figures import calibration
from reviewdesk.pages.htmltext import Html, el, joined
from reviewdesk.pages.jurors import jurors
from reviewdesk.pages.overview import head, notes, summary, title
from reviewdesk.pages.records import ListedVerdict, RunPage
from reviewdesk.pages.style import STYLE
from reviewdesk.pages.verdict_entry import verdict

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
_PARTS = (
    ("summary", "Summary"), ("notes", "Notes"), ("calibration", "Calibration"),
    ("jurors", "Jurors"), ("verdicts", "Verdicts"),
)  # fmt: skip


def page(found: RunPage, listed: Iterable[ListedVerdict]) -> Iterator[str]:
    """Yield the HTML file piece by piece; each verdict is rendered when it is reached."""
    yield "<!doctype html>\n"
    yield f'<html lang="en">{_head(found).text}\n<body>\n'
    yield head(found).text
    yield "\n<main>\n"
    yield _contents().text
    for part in (summary(found), notes(found), calibration(found.calibration)):
        yield f"{part.text}\n"
    yield f"{jurors(found.jurors, found.flips).text}\n"
    yield '<section aria-labelledby="verdicts"><h2 id="verdicts">Verdicts</h2>\n'
    yield _listing_note(found).text
    for place, one in enumerate(listed, start=1):
        yield f"{verdict(one, place).text}\n"
    yield "</section>\n</main>\n"
    yield f"{_foot(found).text}\n</body></html>\n"


def _head(found: RunPage) -> Html:
    return el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="referrer", content="no-referrer"),
        # Without an icon here, a browser requests one from the page's server.
        el("link", rel="icon", href="data:,"),
        el("title", title(found)),
        joined([Html(f"<style>{STYLE}</style>")]),
    )


def _contents() -> Html:
    links = [el("li", el("a", text, href=f"#{name}")) for name, text in _PARTS]
    return el("nav", el("ul", *links), aria_label="Contents")


def _listing_note(found: RunPage) -> Html:
    """Say which verdicts follow, and how many are left out."""
    every, left = found.run.verdicts, found.run.verdicts - found.listed
    if not every:
        return paragraph("The run has no verdicts.")
    if not left:
        return paragraph(
            f"All {words.plural(every, 'verdict')}, the flagged first, then the labelled."
        )
    return paragraph(
        f"{found.listed:,} of {words.plural(every, 'verdict')}, the flagged first, then the "
        f"labelled; {left:,} are left out of this page and counted in every figure above it."
    )


def _foot(found: RunPage) -> Html:
    return el(
        "footer",
        paragraph(
            f"Written {words.moment(found.written_at)} UTC. Text from the report is shown as it "
            "is; characters that cannot be seen are spelled out, as <U+202E> is."
        ),
    )
