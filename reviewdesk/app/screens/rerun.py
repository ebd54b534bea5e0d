"""The re-run dialog: its first page asks for jurors and panel, its second for consent to send."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from reviewdesk.app.controllers.rerun_form import RerunForm
from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.paint.styled import Lines, cut, inline, line, pad, paragraph
from reviewdesk.app.screens.dialog import ChoiceList, Keys, ListDialog
from reviewdesk.app.texts.layout import PAGE, page_count, part
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Bar, Pane
from reviewdesk.desk.live.rerun import JURORS, ReadyRerun, payloads
from reviewdesk.views.document import Block, Document, Paragraph, Quote, Section, Tone
from reviewdesk.views.live.panel import consent
from reviewdesk.views.live.rerun import asked
from reviewdesk.views.words import plural

if TYPE_CHECKING:
    from reviewdesk.desk.live.rerun import ReadyRerun


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
        parts.append(f"[system]\n{_content_text(payload['system'])}")
    messages = payload.get("messages") or ()
    texts = [f"[{message['role']}]\n{_content_text(message['content'])}" for message in messages]
    return "\n".join([*parts, *texts])


def _content_text(content: object) -> str:
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
        self.ready = ready
        self.notice = ""
        self._payloads = list(payloads(ready.held.values()))
        self._page = 0
        self._exact = False
        self._sheets = sheets(self._payloads, exact=False)

    def turn(self, by: int) -> None:
        self._page = max(0, min(self._page + by, len(self._sheets) - 1))

    def as_other(self) -> None:
        self._page = 0
        self._exact = not self._exact
        self._sheets = sheets(self._payloads, exact=self._exact)

    def lines(self, width: int) -> Lines:
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


_STAYS = frozenset({
    "y", "n", "enter", "escape", "j", "k", "down", "up", "ctrl+d", "ctrl+u", "pagedown", "pageup",
    "space", "g", "G", "home", "end", "left_square_bracket", "right_square_bracket", "x", "p", "o",
    "b", "f", "c", "d",
})  # fmt: skip
"""The keys that have an action; every other key cancels on the consent page."""


_BINDINGS: tuple[BindingType, ...] = (
    ("escape,n,enter", "cancel", "Send nothing"),
    ("y", "agree", "Send"),
    ("right_square_bracket", "turn(1)", "Next page"),
    ("left_square_bracket", "turn(-1)", "Page before"),
    ("x", "exact", "As JSON, or as messages"),
    ("p", "name_panel", "Another panel file"),
    ("o", "own_panel", "The report's own panel"),
    ("b", "jurors", "The report's jurors whose keys are set"),
    ("f", "turn_about", "What the filter shows, or the item"),
    ("c", "ceiling", "The most that may be spent"),
    ("d", "give_up", "Give up what was cut off"),
)


_STYLE = """
    RerunDialog > #box { width: 100; }
    RerunDialog #panel { height: auto; margin: 1 0 0 0; }
    RerunDialog.-short #panel { margin: 0; }
    RerunDialog Pane { height: 1fr; display: none; }
    RerunDialog.-consent > #box { width: 112; height: 100%; }
    RerunDialog.-consent ChoiceList, RerunDialog.-consent #panel { display: none; }
    RerunDialog.-consent Pane { display: block; }
"""


class _Offers(ChoiceList):
    """The list of who may be asked; a mark shows the chosen line without the help of colour."""

    def offer(self, lines: list[str], chosen: int) -> None:
        """Show other lines, and highlight the ``chosen`` one."""
        self._lines_offered = lines
        self.clear_options()
        self.add_options([Option(Content(f"  {one}")) for one in lines])
        self.highlighted = chosen

    def on_option_list_option_highlighted(self) -> None:
        for place, one in enumerate(self._lines_offered):
            mark = "▸" if place == self.highlighted else " "
            self.replace_option_prompt_at_index(place, Content(f"{mark} {one}"))


class RerunDialog(ListDialog[ReadyRerun | None]):
    """Draws a re-run form; ``y`` closes it with the re-run that was agreed to."""

    CSS = _STYLE
    around = 12
    BINDINGS: ClassVar[list[BindingType]] = [*_BINDINGS]

    def __init__(
        self,
        form: RerunForm,
        lateness: Callable[[], float],
        act: Callable[[Callable[[], object]], None],
    ) -> None:
        """Show ``form``; ``lateness`` tells how many seconds the last key waited.

        ``act`` carries out what the form asks of the terminal.
        """
        super().__init__()
        self._form = form
        self._lateness = lateness
        self._act = act
        self._offered: list[str] = []
        self._consent: Consent | None = None
        form.changed = self._draw

    def title_facts(self) -> tuple[str, str, str]:
        notice = "" if self._consent is None else self._consent.notice
        return "Ask again about", self._form.about, notice

    def content(self) -> ComposeResult:
        yield _Offers()
        yield Bar(self._about, id="panel")
        yield Pane()

    def keys(self) -> Keys:
        """Return the keys of the page in view."""
        if self._consent is not None:
            return self._consent.keys()
        form = self._form
        about = [("f", "the item" if form.about_shown else "all shown")] if form.shown else []
        own = [("o", "the report's")] if form.path else []
        made = [("b", "its jurors")] if form.path != JURORS else []
        up = [("d", "give up")] if form.unfinished else []
        return (
            ("enter", "what would be sent"), *about, *up, ("p", "panel file"), *own, *made,
            ("c", "ceiling"), ("esc", "closes"),
        )  # fmt: skip

    def moving(self) -> Widget:
        return self.query_one(OptionList if self._consent is None else Pane)

    def on_mount(self) -> None:
        self._draw()

    def on_screen_resume(self) -> None:
        self._form.drawn()

    def _about(self, width: int) -> Lines:
        return _panel_lines(self._form, width)

    def _draw(self) -> None:
        """Draw the page of the moment: who may be asked or, once prepared, what would be sent."""
        form = self._form
        if self._offered != (offers := form.offers()):
            self._offered = offers
            self.query_one(_Offers).offer(list(map(inline, offers)), form.likeliest)
        self.query_one("#panel", Bar).redraw()
        if self._consent is None and form.ready is not None:
            self._consent = Consent(form.ready)
            self.add_class("-consent")
            self.set_focus(self.query_one(Pane))
            self.call_after_refresh(form.drawn)
        if self._consent is not None:
            self.query_one(Pane).paint(self._consent.lines)
        self.redraw()

    # the first page: who, and by which panel

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self._act(partial(self._form.choose, event.option_index))
        self._draw()

    def action_name_panel(self) -> None:
        if self._choosing():
            self._act(self._form.name_panel)

    def action_own_panel(self) -> None:
        if self._choosing():
            self._form.use_panel("")

    def action_jurors(self) -> None:
        if self._choosing():
            self._form.use_panel(JURORS)

    def action_turn_about(self) -> None:
        if self._choosing():
            self._form.turn()

    def action_ceiling(self) -> None:
        if self._choosing():
            self._act(self._form.name_ceiling)

    def action_give_up(self) -> None:
        chosen = self.query_one(OptionList).highlighted
        if self._choosing() and chosen is not None:
            self._act(partial(self._form.give_up, chosen))

    def _choosing(self) -> bool:
        if self._consent is not None:
            self.dismiss(None)
        return self._consent is None

    # the second page: consent

    def action_agree(self) -> None:
        """Close with the re-run, unless the key came too soon for the page to have been read."""
        if self._consent is None:
            return
        if self._form.agree(self._lateness()):
            self.dismiss(self._consent.ready)
            return
        self._consent.notice = "y ignored: too soon to have read this; n sends nothing"
        self.redraw()

    def action_cancel(self) -> None:
        self.dismiss(None)

    def action_turn(self, by: int) -> None:
        if self._consent is not None:
            self._consent.turn(by)
            self._draw()

    def action_exact(self) -> None:
        if self._consent is not None:
            self._consent.as_other()
            self._draw()

    def on_key(self, event: events.Key) -> None:
        """Cancel on a key without an action while the consent page is in view."""
        if self._consent is not None and event.key not in _STAYS:
            # The key must not reach the screen below once this dialog is gone.
            event.stop()
            event.prevent_default()
            self.dismiss(None)


def _panel_lines(form: RerunForm, width: int) -> Lines:
    """Return lines for the panel, or why there is none, and for what else was chosen."""
    head = [(pad("panel", 12), Ink.MUTED.value)]
    panel = form.panel
    problem = inline(form.problem)
    lines: Lines = []
    if panel is None:
        lines += paragraph(problem, width, Ink.WARN, first=head, indent=12)
    else:
        where = {"": "as the report tells it", JURORS: "those whose keys are set"}
        place = where.get(form.path) or inline(form.path)
        jurors = plural(len(panel.jurors), "juror")
        panel_text = f"{inline(panel.name, 80)}: {jurors}, {place}"
        lines.append(cut(line(*head, panel_text), width))
    if form.suspicious:
        lines.append(cut(line((pad("suspicious", 12), Ink.WARN), form.suspicious), width))
    lines.append(cut(line((pad("ceiling", 12), Ink.MUTED), form.ceiling), width))
    if form.preparing:
        lines.append(line(("reading what would be sent …", Ink.NOTE)))
    if panel is not None and problem:
        lines += paragraph(problem, width, Ink.FAIL)
    return lines
