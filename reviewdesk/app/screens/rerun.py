"""The re-run dialog: its first page asks for jurors and panel, its second for consent to send."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

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
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Bar, Pane
from reviewdesk.desk.live.rerun import JURORS, ReadyRerun, payloads
from reviewdesk.views.document import Block, Document, Paragraph, Quote, Section, Tone
from reviewdesk.views.live.panel import consent
from reviewdesk.views.live.rerun import asked
from reviewdesk.views.words import plural

if TYPE_CHECKING:
    from reviewdesk.desk.live.rerun import ReadyRerun

MOST = 200_000
"""The most characters of payloads that the consent page shows."""


def consent_lines(ready: ReadyRerun, width: int) -> Lines:
    """Return hosts, models, calls, cost and hash, and then the payloads.

    No payload can forge the title above another, because its text is indented.
    """
    told = consent(ready.plan, asked(ready.asked), ready.contracts, ready.order.max_cost)
    return document_lines(Document((told, Section("Payload", tuple(_payloads(ready))))), width)


def _payloads(ready: ReadyRerun) -> Iterator[Block]:
    if len(ready.held) < len(ready.keys):
        text = f"of the first {len(ready.held):,} verdicts; rerun --dry-run prints all"
        yield Paragraph(text, Tone.NOTE)
    every = list(payloads(ready.held.values()))
    many = len({sent["case"] for sent in every}) > 1
    room = MOST
    for place, sent in enumerate(every, start=1):
        about = f"{inline(sent['case'], 80)} to " if many else ""
        to = f"{about}{inline(sent['juror'], 80)} at {inline(sent['url'])}"
        text = _payload_text(sent["payload"])
        if len(text) > room:
            yield Paragraph("too long to show here; rerun --dry-run prints all", Tone.NOTE)
            return
        room -= len(text)
        yield Paragraph(f"{place} of {len(every)}: {to}", Tone.STRONG)
        yield Quote(text, lead="  ", indent=2, limit=MOST)


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


_STAYS = frozenset({
    "y", "n", "enter", "escape", "j", "k", "down", "up", "ctrl+d", "ctrl+u", "pagedown", "pageup",
    "space", "g", "G", "home", "end",
})  # fmt: skip
"""The keys that have an action on the consent page; every other key sends nothing."""


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

    CSS = """
    RerunDialog > #box { width: 100; }
    RerunDialog #panel { height: auto; margin: 1 0 0 0; }
    RerunDialog.-short #panel { margin: 0; }
    RerunDialog Pane { height: 1fr; display: none; }
    RerunDialog.-consent > #box { width: 112; height: 100%; }
    RerunDialog.-consent ChoiceList, RerunDialog.-consent #panel { display: none; }
    RerunDialog.-consent Pane { display: block; }
    """
    around = 12
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,n,enter", "close", "Send nothing"),
        ("y", "agree", "Send"),
    ]

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
        self._consenting = False
        self._notice = ""
        form.changed = self._draw
        self._first_page: dict[str, Callable[[], object]] = {
            "p": form.name_panel,
            "o": partial(form.use_panel, ""),
            "b": partial(form.use_panel, JURORS),
            "f": form.turn,
            "c": form.name_ceiling,
            "d": lambda: form.give_up(self.query_one(OptionList).highlighted or 0),
        }

    def title_facts(self) -> tuple[str, str, str]:
        return "Ask again about", self._form.about, self._notice

    def content(self) -> ComposeResult:
        yield _Offers()
        yield Bar(partial(_panel_lines, self._form), id="panel")
        yield Pane()

    def keys(self) -> Keys:
        """Return the keys of the page in view."""
        if self._consenting:
            return ("y", "sends"), ("j k", "scroll"), ("n esc enter", "send nothing")
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
        return self.query_one(Pane if self._consenting else OptionList)

    def on_mount(self) -> None:
        self._draw()

    def on_screen_resume(self) -> None:
        self._form.drawn()

    def _draw(self) -> None:
        """Draw the page of the moment: who may be asked or, once prepared, what would be sent."""
        form = self._form
        if self._offered != (offers := form.offers()):
            self._offered = offers
            self.query_one(_Offers).offer(list(map(inline, offers)), form.likeliest)
        self.query_one("#panel", Bar).redraw()
        if form.ready is not None and not self._consenting:
            self._consenting = True
            self.add_class("-consent")
            self.set_focus(self.query_one(Pane))
            self.query_one(Pane).paint(partial(consent_lines, form.ready))
            self.call_after_refresh(form.drawn)
        self.redraw()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self._act(partial(self._form.choose, event.option_index))
        self._draw()

    def action_agree(self) -> None:
        """Close with the re-run, unless the key came too soon for the page to have been read."""
        if not self._consenting:
            return
        if self._form.agree(self._lateness()):
            self.dismiss(self._form.ready)
            return
        self._notice = "y ignored: too soon to have read this; n sends nothing"
        self.redraw()

    def on_key(self, event: events.Key) -> None:
        """Act on a key of the first page; on the second, one without an action sends nothing."""
        if self._consenting and event.key not in _STAYS:
            self.dismiss(None)
        elif not self._consenting and event.key in self._first_page:
            self._act(self._first_page[event.key])
        else:
            return
        # The key must not reach the screen below once this dialog is gone.
        event.stop()
        event.prevent_default()


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
        lines.append(cut(line(*head, f"{inline(panel.name, 80)}: {jurors}, {place}"), width))
    if form.suspicious:
        lines.append(cut(line((pad("suspicious", 12), Ink.WARN), form.suspicious), width))
    lines.append(cut(line((pad("ceiling", 12), Ink.MUTED), form.ceiling), width))
    if form.preparing:
        lines.append(line(("reading what would be sent …", Ink.NOTE)))
    if panel is not None and problem:
        lines += paragraph(problem, width, Ink.FAIL)
    return lines
