"""The re-run dialog: its first page asks for jurors and panel, its second for consent to send.

The dialog sends nothing: it closes with the re-run that a person agreed to, or with ``None``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from reviewdesk.app.controllers.label_guard import LabelGuard
from reviewdesk.app.keys.commands import files
from reviewdesk.app.paint.consent import Consent
from reviewdesk.app.paint.styled import (
    Lines,
    Piece,
    cut,
    inline,
    line,
    pad,
    paragraph,
)
from reviewdesk.app.screens.dialog import ListDialog
from reviewdesk.app.screens.prompt import FieldInput, PromptField
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Bar, Pane
from reviewdesk.desk.live import rerun
from reviewdesk.domain.jury.injection import passages
from reviewdesk.domain.panel.case import outside_texts
from reviewdesk.domain.panel.rerun import RerunRequest, RerunScope, missing
from reviewdesk.domain.records import Item
from reviewdesk.errors import ReviewDeskError

if TYPE_CHECKING:
    from reviewdesk.app.app import ReviewApp
    from reviewdesk.desk import Desk
    from reviewdesk.desk.live.rerun import PreparedRerun
    from reviewdesk.domain.panel.spec import PanelSpec

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


class RerunDialog(ListDialog["PreparedRerun | None"]):
    """Asks for jurors, then for consent; ``y`` closes it with the re-run that was agreed to."""

    CSS = _STYLE
    BINDINGS: ClassVar[list[BindingType]] = [*_BINDINGS]

    def __init__(
        self,
        desk: Desk,
        item: Item,
        guard: LabelGuard,
        *,
        path: str,
        named: Callable[[str], None],
        wish: RerunRequest | None = None,
    ) -> None:
        """Ask about ``item``, with the panel file at ``path`` or, if empty, the report's panel.

        ``named`` is called with each chosen panel file; a ``wish`` opens the consent page at once.
        """
        super().__init__()
        self._desk, self._item, self._guard = desk, item, guard
        self._path, self._named, self._wish = path, named, wish
        self._panel: PanelSpec | None = None
        self._problem = ""
        self._masked = wish is not None and wish.masked
        self._passages = sum(len(passages(text)) for _, text in outside_texts(item.verdict.body))
        self._wishes: list[RerunRequest] = []
        self._consent: Consent | None = None

    def compose(self) -> ComposeResult:
        """Yield the widgets of both pages, of which one is in view."""
        with Vertical():
            yield Bar(self._head)
            yield _Offers()
            yield Bar(self._about, id="panel")
            yield Pane()
            yield Bar(self._keys, id="foot")

    def on_mount(self) -> None:
        """Read the panel and offer its jurors; with a wish, ask for consent at once."""
        self._read()
        if self._wish is not None:
            self._show(self._wish)

    def on_screen_resume(self) -> None:
        """Restart the guard's wait, because the consent page has come back into view."""
        if self._consent is not None:
            self._guard.shown()

    # the first page: who, and by which panel

    def _head(self, width: int) -> Lines:
        name = inline(self._item.verdict.id, 80)
        return [cut(line((f" Ask again about {name}", Ink.STRONG)), width)]

    def _about(self, width: int) -> Lines:
        suspicious = _suspicious_text(self._passages, masked=self._masked)
        return _panel_lines(self._panel, self._path, self._problem, suspicious, width)

    def _keys(self, width: int) -> Lines:
        if self._consent is not None:
            return [self._consent.keys(width)]
        return [_choice_keys(width, file=bool(self._path), mask=bool(self._passages))]

    def _read(self) -> None:
        """Read the panel, or store why there is none, and offer what it can be asked."""
        self._panel, self._problem = _panel_of(self._path, self._item)
        self._wishes = _wishes(self._item, self._panel)
        self.query_one(_Offers).offer([_wish_text(wish, self._item) for wish in self._wishes])
        self._draw()

    def _draw(self) -> None:
        self.query_one("#panel", Bar).paint(self._about)
        self.query_one("#foot", Bar).paint(self._keys)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Show what would be sent to the chosen jurors."""
        if self._consent is None:
            self._show(replace(self._wishes[event.option_index], masked=self._masked))

    def action_name_panel(self) -> None:
        """Ask for the path of a panel file."""
        if self._choosing():
            self._prompt(None)

    def _prompt(self, wish: RerunRequest | None) -> None:
        prompt = PromptField(
            "Panel file",
            self._path,
            check=rerun.panel_from,
            complete=files,
            hint="YAML or TOML: the jurors that are asked, and the rule that decides",
            replaces=True,
        )
        self._desk_app.ask(prompt, partial(self._take_path, wish))

    def _take_path(self, wish: RerunRequest | None, answer: FieldInput | None) -> None:
        if answer is None or not answer.given or not answer.text or not self.is_current:
            return
        self._path = answer.text
        self._named(answer.text)
        self._read()
        if wish is not None and self._panel is not None:
            self._show(wish)

    def action_own_panel(self) -> None:
        """Use the panel that the report names."""
        if self._choosing():
            self._path = ""
            self._named("")
            self._read()

    def action_mask(self) -> None:
        """Mask the passages that address the judge, or send them unmasked again."""
        if self._choosing() and self._passages:
            self._masked = not self._masked
            self._draw()

    def _choosing(self) -> bool:
        """Return True on the first page; on the consent page, cancel and return False."""
        if self._consent is not None:
            self.dismiss(None)
        return self._consent is None

    # the second page: consent

    def _show(self, wish: RerunRequest) -> None:
        """Prepare the re-run and show the consent page; a problem is shown on the first page."""
        if self._panel is None:
            self._prompt(wish)
            return
        try:
            made: PreparedRerun = rerun.prepare(self._desk, self._item.row.key, self._panel, wish)
        except ReviewDeskError as error:
            self._problem = inline(error, 400)
            self._draw()
            return
        who = f"{_who(wish)} of {inline(made.seats.panel.name, 80)}"
        who += ", suspicious passages masked" if wish.masked else ""
        self._consent = Consent(made, who, list(rerun.payloads([made])))
        self.add_class("-consent")
        self.set_focus(self.query_one(Pane))
        self._paint()
        self.call_after_refresh(self._guard.shown)

    def _paint(self) -> None:
        if self._consent is not None:
            self.query_one(Pane).paint(self._consent.lines)
            self.query_one("#foot", Bar).paint(self._keys)

    def action_agree(self) -> None:
        """Close with the re-run, unless the key came too soon for the page to have been read."""
        if self._consent is None:
            return
        if self._guard.press("y", self._desk_app.lateness):
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
        options = self.query_one(OptionList)
        options.highlighted = max(0, min((options.highlighted or 0) + by, len(self._wishes) - 1))

    def action_turn(self, by: int) -> None:
        """Show another page of what would be sent."""
        if self._consent is not None:
            self._consent.turn(by)
            self._paint()

    def action_exact(self) -> None:
        """Switch the payloads between exact JSON and single messages."""
        if self._consent is not None:
            self._consent.as_other()
            self._paint()

    def on_key(self, event: events.Key) -> None:
        """Cancel on a key without an action while the consent page is in view."""
        if self._consent is not None and event.key not in _STAYS:
            # The key must not reach the screen below once this dialog is gone.
            event.stop()
            event.prevent_default()
            self.dismiss(None)

    @property
    def _desk_app(self) -> ReviewApp:
        return cast("ReviewApp", self.app)


def _wishes(item: Item, panel: PanelSpec | None) -> list[RerunRequest]:
    """Return what the panel can be asked, likeliest first; without one, all the report names."""
    names = list(dict.fromkeys(cast.id for cast in item.verdict.ballots))
    if panel is not None:
        known = {juror.name for juror in panel.jurors}
        names = [name for name in names if name in known]
    gone = missing(item.verdict)
    # A re-run of the missing jurors is refused unless the panel has all of them.
    first = [RerunRequest(RerunScope.MISSING)] if gone and set(gone) <= set(names) else []
    return [
        *first,
        RerunRequest(RerunScope.PANEL),
        *(RerunRequest(RerunScope.JUROR, name) for name in names),
    ]


def _wish_text(wish: RerunRequest, item: Item) -> str:
    if wish.scope is RerunScope.MISSING:
        return f"{_who(wish)}: {inline(', '.join(missing(item.verdict)), 200)}"
    failed = wish.juror in missing(item.verdict)
    return f"{_who(wish)}{', who gave no answer' if failed else ''}"


def _who(wish: RerunRequest) -> str:
    """Return who is asked, in words."""
    if wish.scope is RerunScope.JUROR:
        return f"{inline(wish.juror, 120)} alone"
    return {RerunScope.MISSING: "the missing jurors", RerunScope.PANEL: "the whole panel"}[
        wish.scope
    ]


def _panel_lines(
    panel: PanelSpec | None, path: str, problem: str, suspicious: str, width: int
) -> Lines:
    """Return lines for the panel, or why there is none, and for the suspicious passages."""
    head = [(pad(" panel", 13), Ink.MUTED.value)]
    lines = [Content("")]
    if panel is None:
        lines += paragraph(problem, width, Ink.WARN, first=head, indent=13)
    else:
        where = inline(path) if path else "as the report tells it"
        panel_text = f"{inline(panel.name, 80)}: {len(panel.jurors)} jurors, {where}"
        lines.append(cut(line(*head, panel_text), width))
    if suspicious:
        lines.append(cut(line((pad(" suspicious", 13), Ink.WARN), suspicious), width))
    if panel is not None and problem:
        lines += paragraph(problem, width, Ink.FAIL, first=[(" ", "")], indent=1)
    return lines


def _choice_keys(width: int, *, file: bool, mask: bool) -> Content:
    pieces: list[Piece | str] = [(" enter", Ink.KEY), " what would be sent  "]
    pieces += [("p", Ink.KEY), " panel file  "]
    pieces += [("o", Ink.KEY), " the report's  "] if file else []
    pieces += [("m", Ink.KEY), " mask  "] if mask else []
    return cut(line(*pieces, ("esc", Ink.KEY), " cancel"), width)


def _panel_of(path: str, item: Item) -> tuple[PanelSpec | None, str]:
    """Return the panel and "", or ``None`` and why there is no panel."""
    try:
        return rerun.panel_from(path) if path else rerun.own_panel(item), ""
    except ReviewDeskError as error:
        # The error of the report's own panel has a hint that is meant for the shell.
        reason = inline(error if path else error.message, 400).removesuffix(".")
        return None, f"{reason}; p names a panel file"


def _suspicious_text(count: int, *, masked: bool) -> str:
    how = "masked for the jurors" if masked else "sent as they are"
    return f"{count} passages speak to the judge, {how}" if count else ""
