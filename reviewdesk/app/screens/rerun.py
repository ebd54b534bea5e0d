"""The re-run dialog: its first page asks for jurors and panel, its second for consent to send."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import OptionList

from reviewdesk.app.controllers.rerun_form import RerunForm
from reviewdesk.app.controllers.state import Choice, DialogPage, PageForm
from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.paint.styled import Lines, cut, inline, line, pad, paragraph
from reviewdesk.app.screens.dialogs import PageDialog
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Bar
from reviewdesk.desk.live.rerun import JURORS, ReadyRerun, payloads
from reviewdesk.views.document import Block, Document, Paragraph, Quote, Section, Tone
from reviewdesk.views.live.panel import consent
from reviewdesk.views.live.rerun import asked
from reviewdesk.views.words import plural

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

    def text(content: object) -> str:
        return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)

    rest = {name: value for name, value in payload.items() if name not in {"messages", "system"}}
    parts = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in rest.items()]
    if "system" in payload:
        parts.append(f"[system]\n{text(payload['system'])}")
    messages = payload.get("messages") or ()
    parts += [f"[{message['role']}]\n{text(message['content'])}" for message in messages]
    return "\n".join(parts)


_STAYS = frozenset({
    "y", "n", "enter", "escape", "j", "k", "down", "up", "ctrl+d", "ctrl+u", "pagedown", "pageup",
    "space", "g", "G", "home", "end",
})  # fmt: skip
"""The keys that have an action on the consent page; every other key sends nothing."""


class RerunDialog(PageDialog):
    """Draws a re-run form; ``y`` closes it with the re-run that was agreed to."""

    CSS = """
    RerunDialog #panel { height: auto; margin: 1 0 0 0; }
    RerunDialog.-short #panel { margin: 0; }
    RerunDialog.-document > #box { height: 100%; }
    RerunDialog.-document #panel { display: none; }
    """
    around = 12
    BINDINGS: ClassVar[list[BindingType]] = [
        ("n,enter", "close", "Send nothing"),
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
        self.rerun = form
        self._lateness = lateness
        self._act = act
        self._notice = ""
        form.changed = self.show
        self._first_page: dict[str, Callable[[], object]] = {
            "p": form.name_panel,
            "o": partial(form.use_panel, ""),
            "b": partial(form.use_panel, JURORS),
            "f": form.turn,
            "c": form.name_ceiling,
            "d": lambda: form.give_up(self.query_one(OptionList).highlighted or 0),
        }
        super().__init__(PageForm(self._read, closes=frozenset(), width=100))

    def _read(self, _at: int) -> DialogPage:
        """Return the page of the moment: who may be asked or, once prepared, what is sent."""
        form = self.rerun
        if form.ready is not None:
            last = ("y", "sends"), ("j k", "scroll"), ("n esc enter", "send nothing")
            text = partial(consent_lines, form.ready)
            return DialogPage("Ask again about", last, form.about, self._notice, document=text)
        about = [("f", "the item" if form.about_shown else "all shown")] if form.shown else []
        own = [("o", "the report's")] if form.path else []
        made = [("b", "its jurors")] if form.path != JURORS else []
        up = [("d", "give up")] if form.unfinished else []
        first = ("enter", "what would be sent"), *about, *up, ("p", "panel file"), *own, *made
        keys = (*first, ("c", "ceiling"), ("esc", "closes"))
        choices = [Choice(f"  {inline(one)}", place) for place, one in enumerate(form.offers())]
        return DialogPage(
            "Ask again about", keys, form.about, choices=choices, chosen=form.likeliest
        )

    def content(self) -> ComposeResult:
        yield from super().content()
        yield Bar(partial(_panel_lines, self.rerun), id="panel")

    def on_screen_resume(self) -> None:
        self.rerun.drawn()

    def show(self) -> None:
        """Draw the page of the moment."""
        before = self._page
        self._page = self._read(0)
        if before.choices != self._page.choices:
            self.query_one(OptionList).highlighted = None
        super().show()
        self.query_one("#panel", Bar).redraw()
        if self.rerun.ready is not None:
            self.query_one("#box").styles.width = 112
            self.call_after_refresh(self.rerun.drawn)

    def on_option_list_option_highlighted(self) -> None:
        """Mark the chosen line without the help of colour."""
        options = self.query_one(OptionList)
        for place, one in enumerate(self._page.choices):
            mark = "▸" if place == options.highlighted else " "
            text = f"{mark}{str(one.text)[1:]}"
            options.replace_option_prompt_at_index(place, Content(text))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.prevent_default()  # a line of other pages closes the dialog
        self._act(partial(self.rerun.choose, event.option_index))
        self.show()

    def action_agree(self) -> None:
        """Close with the re-run, unless the key came too soon for the page to have been read."""
        if self.rerun.ready is None:
            return
        if self.rerun.agree(self._lateness()):
            self.dismiss(self.rerun.ready)
            return
        self._notice = "y ignored: too soon to have read this; n sends nothing"
        self.about = (*self.about[:2], self._notice)
        self.redraw()

    def on_key(self, event: events.Key) -> None:
        """Act on a key of the first page; on the second, one without an action sends nothing."""
        if self.rerun.ready is not None and event.key not in _STAYS:
            self.dismiss(None)
        elif self.rerun.ready is None and event.key in self._first_page:
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
