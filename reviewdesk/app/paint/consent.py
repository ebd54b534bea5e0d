"""The consent page of a re-run: what it would send, to whom and at what cost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from reviewdesk.app.paint.dialog import Keys
from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.paint.styled import Lines, inline
from reviewdesk.app.texts.pages import PAGE, page_count, part
from reviewdesk.desk.live.rerun import payloads
from reviewdesk.views.document import Block, Document, Paragraph, Quote, Section, Tone
from reviewdesk.views.live.panel import consent
from reviewdesk.views.live.rerun import asked

if TYPE_CHECKING:
    from reviewdesk.desk.live.rerun_plan import ReadyRerun


class PayloadPassage(Struct, frozen=True):
    """A passage of one payload. ``title`` names the juror, and the part if there are several."""

    title: str
    text: str


def sheets(sent: Iterable[Mapping[str, Any]], *, exact: bool) -> list[list[PayloadPassage]]:
    """Split the payloads into sheets of bounded length, as JSON if ``exact``, else as messages.

    Each passage has a title above it. No payload can forge one, because its text is indented.
    """
    made: list[list[PayloadPassage]] = [[]]
    room = PAGE
    for passage in _passages(list(sent), exact=exact):
        if made[-1] and len(passage.text) > room:
            made.append([])
            room = PAGE
        made[-1].append(passage)
        room -= len(passage.text)
    return made


def _passages(every: list[Mapping[str, Any]], *, exact: bool) -> Iterator[PayloadPassage]:
    many = len({sent["case"] for sent in every}) > 1
    for place, sent in enumerate(every, start=1):
        text = _payload_json(sent["payload"]) if exact else _payload_text(sent["payload"])
        about = f"{inline(sent['case'], 80)} to " if many else ""
        title = f"{place} of {len(every)}: {about}{inline(sent['juror'], 80)} at "
        title += inline(sent["url"])
        count = page_count(text)
        for page in range(count):
            found = part(text, page)
            more = f", part {page + 1} of {count}" if count > 1 else ""
            yield PayloadPassage(title + more, text[found.start : found.end])


def _payload_json(payload: Mapping[str, Any]) -> str:
    return json.dumps(payload, ensure_ascii=False, indent=2)


def _payload_text(payload: Mapping[str, Any]) -> str:
    """Format every key of the payload as text; messages keep their line breaks."""
    rest = {name: value for name, value in payload.items() if name not in {"messages", "system"}}
    parts = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in rest.items()]
    if "system" in payload:
        parts.append(f"[system]\n{_text(payload['system'])}")
    messages = payload.get("messages") or ()
    texts = [f"[{message['role']}]\n{_text(message['content'])}" for message in messages]
    return "\n".join([*parts, *texts])


def _text(content: object) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def consent_lines(ready: ReadyRerun, sheet: list[PayloadPassage], of: str, width: int) -> Lines:
    """Return hosts, models, calls, cost and hash, then one sheet; ``of`` is its page number."""
    told = consent(ready.plan, asked(ready.asked), ready.contracts, ready.order.max_cost)
    blocks: list[Block] = []
    if len(ready.held) < len(ready.keys):
        text = f"of the first {len(ready.held):,} verdicts; rerun --dry-run prints all"
        blocks.append(Paragraph(text, Tone.NOTE))
    for passage in sheet:
        blocks.append(Paragraph(passage.title, Tone.STRONG))
        blocks.append(Quote(passage.text, lead="  ", indent=2))
    return document_lines(Document((told, Section("Payload", tuple(blocks), of))), width)


class Consent:
    """The state of the consent page: which sheet of the payloads it shows, and in which form."""

    def __init__(self, ready: ReadyRerun) -> None:
        """Start with the first sheet, message by message."""
        self.ready, self.notice = ready, ""
        self._payloads = list(payloads(ready.held.values()))
        self._page, self._exact = 0, False
        self._sheets = sheets(self._payloads, exact=False)

    def turn(self, by: int) -> None:
        """Move by this many sheets, forward or back, and stop at either end."""
        self._page = max(0, min(self._page + by, len(self._sheets) - 1))

    def as_other(self) -> None:
        """Switch between exact JSON and messages, and go back to the first sheet."""
        self._page, self._exact = 0, not self._exact
        self._sheets = sheets(self._payloads, exact=self._exact)

    def lines(self, width: int) -> Lines:
        """Return the lines of the page."""
        count = len(self._sheets)
        of = f"page {self._page + 1} of {count}" if count > 1 else ""
        return consent_lines(self.ready, self._sheets[self._page], of, width)

    def keys(self) -> Keys:
        """Return the keys of the page."""
        pages = [("[ ]", "pages")] if len(self._sheets) > 1 else []
        other = "as messages" if self._exact else "as JSON"
        return (
            ("y", "sends"), ("x", other), *pages, ("j k", "scroll"),
            ("n esc enter", "send nothing"),
        )  # fmt: skip
