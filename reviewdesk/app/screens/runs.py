"""The screen of the loaded runs: their list, their details, and which one to review."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.geometry import Size

from reviewdesk.app.keys.actions import screen_bindings
from reviewdesk.app.keys.commands import files
from reviewdesk.app.paint.frame import page_header
from reviewdesk.app.paint.runs import details_lines, run_head, run_row
from reviewdesk.app.paint.styled import Lines, inline
from reviewdesk.app.screens.base import DeskScreen
from reviewdesk.app.screens.dialogs import Question
from reviewdesk.app.screens.prompt import FieldInput, PromptField
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Pane
from reviewdesk.desk.review.runs import (
    RunDetails,
    RunLine,
    overview,
    run_details,
)
from reviewdesk.errors import ReviewDeskError, UsageError

WIDE = 120


class RunsScreen(DeskScreen):
    """A list of runs, and the details of the one under the cursor."""

    where = "runs"
    DEFAULT_CSS = """
    RunsScreen #body { layout: vertical; }
    RunsScreen #list { height: 40%; }
    RunsScreen #details { height: 1fr; border-top: solid $desk-rule; }
    RunsScreen.-wide #body { layout: horizontal; }
    RunsScreen.-wide #list { width: 45%; height: 1fr; }
    RunsScreen.-wide #details { height: 1fr; border-top: none; border-left: solid $desk-rule; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*screen_bindings("runs")]

    def __init__(self) -> None:
        """Start on the run under review."""
        super().__init__()
        self.verbs |= {
            "run.open": self._open,
            "run.load": self._ask_file,
            "run.remove": self._ask_remove,
            "pane.next": self._turn,
            "pane.previous": self._turn,
        }
        self._runs: list[RunLine] = []
        self._cursor = 0
        self._details: dict[str, RunDetails] = {}
        self._path = ""

    def body(self) -> ComposeResult:
        """Yield the list of runs and the details of one."""
        with Container(id="body"):
            yield Pane(id="list")
            yield Pane(id="details")

    def on_mount(self) -> None:
        """Read the runs."""
        self.fit(self.app.size)
        self.set_focus(self._list)
        self.arrived()

    def fit(self, size: Size) -> None:
        """Put list and details side by side on a wide terminal."""
        super().fit(size)
        self.set_class(size.width >= WIDE, "-wide")

    @property
    def _list(self) -> Pane:
        return self.query_one("#list", Pane)

    @property
    def _about_pane(self) -> Pane:
        return self.query_one("#details", Pane)

    @property
    def _chosen(self) -> RunLine | None:
        return self._runs[self._cursor] if self._cursor < len(self._runs) else None

    @property
    def shown(self) -> object:
        """The run under the cursor."""
        return self._chosen and self._chosen.run.hash

    def arrived(self) -> None:
        """Read the runs anew, and stay on the one under the cursor."""
        if not self.ready:
            return
        app = self.desk_app
        stay = self._chosen.run.hash if self._chosen else app.review_session.session.run.hash
        try:
            self._runs = overview(app.review_session.desk)[::-1]
        except ReviewDeskError as error:
            self.complain(error)
        self._details.clear()
        hashes = [line.run.hash for line in self._runs]
        self._cursor = hashes.index(stay) if stay in hashes else 0
        self._draw()

    def header(self, width: int) -> Content:
        """Return the header of the screen."""
        session, jobs = self.desk_app.review_session.session, self.desk_app.jobs.text
        return page_header("Runs", session, jobs, width)

    def hints(self) -> Mapping[str, object]:
        """Return the footer's actions for the run under the cursor."""
        some, running = self._chosen is not None, bool(self.desk_app.jobs.text)
        pane = "list" if self.focused is self._about_pane else "details"
        offered = {"run.open": some, "pane.next": pane, "stop": running and "stop"}
        wanted = ("run.load", "leave", "screen.calibration", "help", "quit", "command")
        return {**offered, "run.remove": some, **dict.fromkeys(wanted, True)}

    def _draw(self) -> None:
        self._read()
        self._list.paint(self._rows, keep=True)
        self._about_pane.paint(self._about)
        self._follow()
        self.frame()

    def _read(self) -> None:
        """Read the details of the run under the cursor before drawing, which must not raise."""
        chosen = self._chosen
        if chosen is None or chosen.run.hash in self._details:
            return
        try:
            found = run_details(self.desk_app.review_session.desk, chosen.run)
        except ReviewDeskError as error:
            self.complain(error)
        else:
            self._details[chosen.run.hash] = found

    def _rows(self, width: int) -> Lines:
        session = self.desk_app.review_session.session
        blind, reviewed = session.view.blind, session.run.hash
        at = self._cursor
        rows = [
            run_row(row, width, current=i == at, chosen=row.run.hash == reviewed, blind=blind)
            for i, row in enumerate(self._runs)
        ]
        return [run_head(width, blind=blind), *rows]

    def _about(self, width: int) -> Lines:
        details = self._details.get(self._chosen.run.hash) if self._chosen else None
        if details is None:
            return []
        return details_lines(details, width, blind=self.desk_app.review_session.session.view.blind)

    def _follow(self) -> None:
        """Keep the cursor in view."""
        top, height, line = self._list.scroll_offset.y, self._list.page, self._cursor + 1
        if line <= top:
            self._list.go(line - 1)
        elif line >= top + height:
            self._list.go(line - height + 1)

    def move(self, by: float, *, pages: bool = False) -> None:
        """Move through the runs, or scroll the details where they have the keys."""
        details = self._about_pane
        if self.focused is details:
            details.move(int(by * details.page) if pages else int(by))
            return
        lines = int(by * self._list.page) if pages else int(by)
        self._cursor = max(0, min(self._cursor + lines, len(self._runs) - 1))
        self._draw()

    def _turn(self) -> None:
        """Give the keys to the details, or back to the list."""
        self.set_focus(self._list if self.focused is self._about_pane else self._about_pane)
        self.frame()

    def on_click(self, event: events.Click) -> None:
        """Choose the clicked run."""
        if event.widget is self._list:
            self._cursor = max(
                0, min(event.y + self._list.scroll_offset.y - 1, len(self._runs) - 1)
            )
            self._draw()

    # what can be done with a run

    def _open(self) -> None:
        if self._chosen is not None:
            self.desk_app.review_run(self._chosen.run)

    def _ask_file(self) -> None:
        prompt = PromptField(
            "Load a report", self._path, check=_check_name, complete=files, hint="a file's name"
        )
        self.desk_app.ask(prompt, self._take_file)

    def _take_file(self, answer: FieldInput | None) -> None:
        if answer is None:
            return
        self._path = "" if answer.given else answer.text
        if answer.given:
            try:
                self.desk_app.controller.load(answer.text, review=False)
            except ReviewDeskError as error:
                self.complain(error)

    def _ask_remove(self) -> None:
        chosen, current = self._chosen, self.desk_app.review_session.session.run
        if chosen is None:
            return
        if chosen.run.hash == current.hash:
            self.say_here("this run is under review: turn to another one first", Ink.WARN)
            return

        def answered(answer: bool | None) -> None:
            if answer:
                try:
                    self.desk_app.review_session.desk.remove(chosen.run)
                except ReviewDeskError as error:
                    self.complain(error)
                    return
                self.say(f"removed {inline(chosen.run.name)}; its labels are kept", Ink.NOTE)
                self.arrived()

        self.desk_app.ask(_removal(chosen.run.name), answered)


def _removal(name: str) -> Question:
    return Question(
        f"Remove {inline(name, 80)} from the list?",
        "Its labels are kept, and loading its file shows it again.",
    )


def _check_name(text: str) -> None:
    if not text.strip():
        raise UsageError("no file was named", "tab completes names.")
