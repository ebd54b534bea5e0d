"""The re-run dialog: its first page asks for jurors and panel, its second for consent to send."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from reviewdesk.app.controllers.rerun_form import RerunForm
from reviewdesk.app.paint.consent import Consent
from reviewdesk.app.paint.styled import Lines, Piece, cut, inline, line, pad, paragraph
from reviewdesk.app.screens.dialog import ListDialog
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Bar, Pane
from reviewdesk.desk.live import rerun
from reviewdesk.desk.live.rerun import PreparedRerun

_STAYS = frozenset({
    "y", "n", "enter", "escape", "j", "k", "down", "up", "ctrl+d", "ctrl+u", "pagedown", "pageup",
    "space", "g", "G", "home", "end", "left_square_bracket", "right_square_bracket", "x", "p", "o",
    "m",
})  # fmt: skip
"""The keys that have an action; every other key cancels on the consent page."""


_BINDINGS: tuple[BindingType, ...] = (
    ("escape,n,enter", "cancel", "Send nothing"),
    ("y", "agree", "Send"),
    ("j,down", "go(1)", "Down"),
    ("k,up", "go(-1)", "Up"),
    ("ctrl+d,pagedown,space", "go(10)", "Page down"),
    ("ctrl+u,pageup", "go(-10)", "Page up"),
    ("g,home", "go(-1000000)", "First"),
    ("G,end", "go(1000000)", "Last"),
    ("right_square_bracket", "turn(1)", "Next page"),
    ("left_square_bracket", "turn(-1)", "Page before"),
    ("x", "exact", "As JSON, or as messages"),
    ("p", "name_panel", "Another panel file"),
    ("o", "own_panel", "The report's own panel"),
    ("m", "mask", "Mask what speaks to the judge"),
)


_STYLE = """
    RerunDialog { align: center middle; background: $background 50%; }
    RerunDialog > Vertical { width: 100; max-width: 100%; height: auto; max-height: 100%;
        background: $panel; padding: 1 1; }
    RerunDialog OptionList { height: auto; max-height: 12; border: none; padding: 0;
        background: $panel; }
    RerunDialog #panel { height: 5; }
    RerunDialog Pane { height: 1fr; background: $panel; display: none; }
    RerunDialog.-consent > Vertical { width: 110; height: 100%; }
    RerunDialog.-consent OptionList, RerunDialog.-consent #panel { display: none; }
    RerunDialog.-consent Pane { display: block; }
"""


class _Offers(OptionList):
    """The list of who may be asked; a mark shows the chosen line without the help of colour."""

    def offer(self, lines: list[str]) -> None:
        """Show other lines, and highlight the first."""
        self._lines_offered = lines
        self.clear_options()
        self.add_options([Option(Content(f"  {one}")) for one in lines])
        self.highlighted = 0

    def on_option_list_option_highlighted(self) -> None:
        """Move the mark."""
        for place, one in enumerate(self._lines_offered):
            mark = "▸" if place == self.highlighted else " "
            self.replace_option_prompt_at_index(place, Content(f"{mark} {one}"))


class RerunDialog(ListDialog[PreparedRerun | None]):
    """Draws a re-run form; ``y`` closes it with the re-run that was agreed to."""

    CSS = _STYLE
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
        self._form, self._lateness, self._act = form, lateness, act
        self._offered: list[str] = []
        self._consent: Consent | None = None
        form.changed = self._draw

    def compose(self) -> ComposeResult:
        """Yield the widgets of both pages, of which one is in view."""
        with Vertical():
            yield Bar(self._head)
            yield _Offers()
            yield Bar(self._about, id="panel")
            yield Pane()
            yield Bar(self._keys, id="foot")

    def on_mount(self) -> None:
        """Draw the page that the form begins with."""
        self._draw()

    def on_screen_resume(self) -> None:
        """Restart the guard's wait, because the consent page has come back into view."""
        self._form.drawn()

    def _head(self, width: int) -> Lines:
        name = inline(self._form.item.verdict.id, 80)
        return [cut(line((f" Ask again about {name}", Ink.STRONG)), width)]

    def _about(self, width: int) -> Lines:
        return _panel_lines(self._form, width)

    def _keys(self, width: int) -> Lines:
        if self._consent is not None:
            return [self._consent.keys(width)]
        return [_choice_keys(width, file=bool(self._form.path), mask=bool(self._form.passages))]

    def _draw(self) -> None:
        """Draw the page of the moment: who may be asked or, once prepared, what would be sent."""
        form = self._form
        if self._offered != (offers := form.offers()):
            self._offered = offers
            self.query_one(_Offers).offer(list(map(inline, offers)))
        self.query_one("#panel", Bar).paint(self._about)
        if self._consent is None and form.prepared is not None:
            payloads: list[Mapping[str, Any]] = list(rerun.payloads([form.prepared]))
            self._consent = Consent(form.prepared, inline(form.who), payloads)
            self.add_class("-consent")
            self.set_focus(self.query_one(Pane))
            self.call_after_refresh(form.drawn)
        if self._consent is not None:
            self.query_one(Pane).paint(self._consent.lines)
        self.query_one("#foot", Bar).paint(self._keys)

    # the first page: who, and by which panel

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Show what would be sent to the chosen jurors."""
        self._act(partial(self._form.choose, event.option_index))
        self._draw()

    def action_name_panel(self) -> None:
        """Ask for the path of a panel file."""
        if self._choosing():
            self._act(self._form.name_panel)

    def action_own_panel(self) -> None:
        """Use the panel that the report names."""
        if self._choosing():
            self._form.use_panel("")

    def action_mask(self) -> None:
        """Mask the passages that address the judge, or send them unmasked again."""
        if self._choosing():
            self._form.mask()
            self._draw()

    def _choosing(self) -> bool:
        """Return True on the first page; on the consent page, cancel and return False."""
        if self._consent is not None:
            self.dismiss(None)
        return self._consent is None

    # the second page: consent

    def action_agree(self) -> None:
        """Close with the re-run, unless the key came too soon for the page to have been read."""
        if self._consent is None:
            return
        if self._form.agree(self._lateness()):
            self.dismiss(self._consent.prepared)
            return
        self._consent.notice = "y ignored: too soon to have read this; n sends nothing"
        self.query_one("#foot", Bar).paint(self._keys)

    def action_cancel(self) -> None:
        """Close without sending anything."""
        self.dismiss(None)

    def action_go(self, by: int) -> None:
        """Move in the list, or scroll what would be sent."""
        if self._consent is not None:
            self.query_one(Pane).move(by)
            return
        options, last = self.query_one(OptionList), len(self._offered) - 1
        options.highlighted = max(0, min((options.highlighted or 0) + by, last))

    def action_turn(self, by: int) -> None:
        """Show another page of what would be sent."""
        if self._consent is not None:
            self._consent.turn(by)
            self._draw()

    def action_exact(self) -> None:
        """Switch the payloads between exact JSON and single messages."""
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
    """Return lines for the panel, or why there is none, and for the suspicious passages."""
    head = [(pad(" panel", 13), Ink.MUTED.value)]
    panel, problem = form.panel, inline(form.problem)
    lines = [Content("")]
    if panel is None:
        lines += paragraph(problem, width, Ink.WARN, first=head, indent=13)
    else:
        where = inline(form.path) if form.path else "as the report tells it"
        panel_text = f"{inline(panel.name, 80)}: {len(panel.jurors)} jurors, {where}"
        lines.append(cut(line(*head, panel_text), width))
    if form.suspicious:
        lines.append(cut(line((pad(" suspicious", 13), Ink.WARN), form.suspicious), width))
    if panel is not None and problem:
        lines += paragraph(problem, width, Ink.FAIL, first=[(" ", "")], indent=1)
    return lines


def _choice_keys(width: int, *, file: bool, mask: bool) -> Content:
    pieces: list[Piece | str] = [(" enter", Ink.KEY), " what would be sent  "]
    pieces += [("p", Ink.KEY), " panel file  "]
    pieces += [("o", Ink.KEY), " the report's  "] if file else []
    pieces += [("m", Ink.KEY), " mask  "] if mask else []
    return cut(line(*pieces, ("esc", Ink.KEY), " cancel"), width)
