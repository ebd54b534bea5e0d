"""Keys and commands of every screen, and the controller: events in, its state and requests out.

It uses no widget. A front end passes events to the controller, carries out ``take`` and draws what
the controller holds.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from reviewdesk.app.controllers import item, labels, queue
from reviewdesk.app.controllers.core import CALIBRATION, REVIEW, RUNS, Core, Verb
from reviewdesk.app.controllers.jobs import EXPORT, LOAD, Report
from reviewdesk.app.controllers.state import (
    MOVES,
    MOVES_AND_CLOSES,
    SCROLLS_AND_CLOSES,
    Choice,
    DialogPage,
    HelpForm,
    PromptForm,
    ScreenRequest,
    one_page,
)
from reviewdesk.app.keys.actions import ACTIONS, GIVES_LABEL, THEMES, refuse_withheld
from reviewdesk.app.keys.commands import (
    NAMED,
    argument_completers,
    complete_command,
    matching,
    parse_command,
)
from reviewdesk.desk import files
from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures import question as questions
from reviewdesk.desk.review import edits
from reviewdesk.domain.assessment.result import SHORT
from reviewdesk.domain.labels.question import parse_question
from reviewdesk.domain.query.filter import Completion, Option
from reviewdesk.domain.records import Loaded, QueueRow, Run, Truth, View
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.stats.methods import FigureMethod
from reviewdesk.errors import UsageError
from reviewdesk.settings import KEPT
from reviewdesk.views import glossary
from reviewdesk.views.document import Document, Tone
from reviewdesk.views.queue import strip_line
from reviewdesk.views.verdict import FIGURES
from reviewdesk.views.words import plural

SETTINGS = ("theme", "panel")
"""The settings that can be chosen on the screen. The panel "" is the report's own."""
WIDTHS = {"queue_width": "queue", "jury_width": "jury"}
"""The kept shares of the screen's width, and the panes that they size."""

_USABLE: Mapping[str, Callable[[Any], bool]] = {
    "theme": lambda value: isinstance(value, str) and value in THEMES,
    **dict.fromkeys(WIDTHS, lambda value: isinstance(value, float) and 0 < value < 1),
    "panel": lambda value: isinstance(value, str) and show_line(value, len(value) + 1) == value,
}
"""Returns True for a value that can be used, by the name under which it is kept."""


def usable(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the kept values that can be used; a damaged one counts as not kept."""
    return {name: values[name] for name, fits in _USABLE.items() if fits(values.get(name))}


def choices(core: Core) -> dict[str, Any]:
    """Return what is chosen on the screen, by the names under which the desk keeps it."""
    settings = core.settings
    chosen = [name for name in SETTINGS if settings.source(name) == KEPT]
    widths = {name: getattr(core.panes, pane) for name, pane in WIDTHS.items()}
    return dict.fromkeys(SETTINGS) | {name: getattr(settings, name) for name in chosen} | widths


def store_choices(core: Core) -> None:
    """Store what differs from what was read or stored here; another window may change the rest."""
    now = choices(core)
    if changed := {name: value for name, value in now.items() if value != core.stored[name]}:
        # First, so that a choice that cannot be stored is reported once, not every second.
        core.stored = now
        core.outbox.keep(("kept", *changed), lambda desk: edits.keep(desk, changed))


# screens


def go(core: Core, where: str) -> None:
    from reviewdesk.app.controllers import pages

    if where == REVIEW:
        core.go(None)
    elif where == CALIBRATION and core.go(page := pages.CalibrationController(core)):
        page.turn(0)
    elif where == RUNS and core.go(runs := pages.RunsController(core)):
        runs.arrived()


def _what_if(core: Core) -> None:
    """Show what other rules decide: of the item or, on the other screens, of the run."""
    if core.where == REVIEW:
        item.what_if(core)
        return
    go(core, CALIBRATION)
    if core.page is not None and core.where == CALIBRATION:
        core.page.open("what-if")


def _compare(core: Core, name: str) -> None:
    from reviewdesk.app.controllers import pages

    pages.compare(core, name)


def _improve(core: Core, panel: str = "") -> None:
    from reviewdesk.app.controllers import improve

    improve.open_page(core, panel)


def _explain(core: Core) -> None:
    """Open a dialog with the terms in view; the term nearest to the top is chosen."""

    def show(method: FigureMethod | None) -> None:
        if method is not None:
            document = Document((glossary.method_section(method),))
            page = DialogPage(method.figure, SCROLLS_AND_CLOSES, document=document)
            core.ask(one_page(page), lambda _: None)

    def took(lines: Sequence[str]) -> None:
        session = core.session
        terms: tuple[glossary.GlossaryTerm, ...]
        short: dict[glossary.GlossaryTerm, str] = {}
        if core.where != REVIEW or session.item is None:
            terms = glossary.mentioned(lines)
        elif session.hidden:
            # The terms of a hidden verdict would reveal its answer.
            terms = (glossary.find("blind"),)
        else:
            # Words in the texts of an item are not terms of the screen.
            found = session.item.assessment
            numbers = bool(core.reading.open_sections & FIGURES)
            strip = ("accuracy", "false passes", "flagged", "random check")
            of_verdict = glossary.of_verdict(found.notes, found.rule.used, numbers=numbers)
            seen = " ".join(lines)
            if core.panes.current == "queue":
                short = {glossary.FLAG_TERMS[flag]: name for flag, name in SHORT.items()}
            others = (glossary.find(word) for word in strip if word in seen)
            terms = (*dict.fromkeys((*of_verdict, *short, *others)),)
        if not terms:
            core.say_here("no figure is in view; reviewdesk explain lists every word")
            return
        choices = [
            Choice(
                f"{term.word}  {short.get(term, '')}".rstrip(),
                glossary.method_of(term.word),
                term.text,
            )
            for term in terms
        ]
        keys = ("enter", "its method, or next"), *MOVES_AND_CLOSES
        page = DialogPage("What is in view", keys, choices=choices, closes=frozenset("qe"))
        core.ask(one_page(page), show)

    core.request("lines", took)


def _use_theme(core: Core, name: str) -> None:
    if name not in THEMES:
        raise UsageError(f"no theme {name!r}", f"Themes: {', '.join(THEMES)}.")
    if core.colourless:
        raise UsageError("NO_COLOR is set, so there are no colours to choose", "Unset it.")
    core.settings = core.settings.choosing({"theme": name})
    core.request("theme", name)


def _stop(core: Core) -> None:
    stopped = core.jobs.stop()
    notice = f"stopped: {', '.join(stopped)}" if stopped else "nothing runs in the background"
    core.say(notice, Tone.NOTE)


def _copy(core: Core) -> None:
    def took(text: str) -> None:
        if text:
            core.request("copy", text)
            core.say(f"copied {len(text):,} characters", Tone.NOTE)
        else:
            close = core.keys.first("quit") or "ctrl+q"
            core.say(f"nothing is selected; press {close} to close", Tone.MUTED)

    core.request("selection", took)


def close(core: Core) -> None:
    """Close; ask first if something is not on disk yet, or a re-run is under way."""
    question = core.outbox.question or core.jobs.question
    if question is None:
        end(core)
    else:
        core.ask(question, lambda answer: end(core) if answer else None)


def end(core: Core) -> None:
    """Save the view and close, even if writes wait to be saved."""
    core.jobs.stop()
    core.request("close")
    # These are a convenience: failing to save them must not keep the app open.
    core.safely(core.review.save)
    core.safely(core.review.claims.release)
    core.safely(store_choices, core)
    core.outbox.stop()


# the command line


def _palette(core: Core) -> None:
    """Ask for an action by words of its title or its id, and carry out the first that has them."""
    offered = [one for one in ACTIONS.values() if one.id not in {*core.keys.withheld, "palette"}]

    def complete(typed: str, _cursor: int) -> Completion:
        found = matching(typed, offered)
        shown = tuple(Option(one.title, core.keys.shown(one.id)) for one in found)
        return Completion(0, len(typed), shown)

    def check(typed: str) -> None:
        if not typed.strip() or not matching(typed, offered):
            raise UsageError("no action has these words", "A part of a word is enough: zo.")

    form = PromptForm("Do", check=check, complete=complete)
    core.ask_text(form, lambda text: core.do(matching(text, offered)[0].id))


def _command(core: Core, start: str = "") -> None:
    """Open the command line; arrow up recalls earlier lines, also those left with escape."""
    arguments = argument_completers(core.desk, core.session)
    complete = lambda text, cursor: complete_command(text, cursor, arguments)  # noqa: E731
    form = PromptForm("Command", start, check=parse_command, complete=complete)
    core.ask_text(form, partial(run_command, core), past="command")


def run_command(core: Core, text: str) -> None:
    """Carry out the command line ``text``; raise UsageError if it cannot be parsed."""
    name, argument = parse_command(text)
    core.calm()
    core.calm(REVIEW)
    refuse_withheld(core.keys, name)
    if name in NAMED:
        core.do(NAMED[name])
    elif (command := COMMANDS.get(name)) is not None:
        command(core, argument)
    else:
        core.go(None)
        queue.COMMANDS[name](core, argument)


def _ask(core: Core, text: str) -> None:
    """Ask the run a question, close the open question, or report its answer so far."""
    desk = core.desk
    run = core.session.run
    if text == "close":
        questions.close(desk, run)
    elif text:
        questions.ask(desk, run, parse_question(text))
    found = questions.answer(desk, run)
    if found is None:
        raise UsageError("no question was asked yet", "Ask, for example, :ask accuracy >= 0.9")
    core.review.asked = tuple(questions.asked_keys(desk, run))
    core.say(strip_line(found, blind=core.session.view.blind), Tone.NOTE)
    core.recalibrate()


# files

_LABEL_KINDS = {".jsonl": "mcptest", ".csv": "csv", ".yaml": "yaml", ".yml": "yaml"}


def _export(core: Core, argument: str) -> None:
    """Write the labels or the run, depending on the file's name; ask before replacing a file."""
    html = argument == "html"
    path = files.of_run(core.session.run, ".html") if html else files.named(argument)
    if files.run_kind(path) is None and path.suffix not in _LABEL_KINDS:
        hint = "Labels: .jsonl, full.jsonl, .csv, .yaml. The run: .json, .html, .md."
        raise UsageError(f"{show_line(str(path))}: its ending names no format", hint)
    session = core.session
    if waiting := core.desk.apart.waiting(session.run):
        held = plural(len(waiting), "label")
        problem = f"the file would hold {held} of others that you may not see yet"
        raise UsageError(problem, "Label these items first.")
    if session.view.blind and (session.withheld or files.run_kind(path) is not None):
        problem = "the file would hold what the panel said, which blind review hides"
        raise UsageError(problem, "Leave blind review first.")
    files.check_target(core.desk.path, path, force=True)
    name = show_line(str(path))
    taken = files.is_taken(path)

    def work(desk: Desk, report: Report) -> None:
        files.write_run(desk, session.run, path, lambda share, _count: report(share), force=taken)

    def write() -> None:
        if files.run_kind(path) is not None:
            written = lambda _: core.say(f"{name}: written", Tone.NOTE)  # noqa: E731
            core.background(EXPORT, work, written, what="a run is being written")
            core.say(f"writing {name}", Tone.NOTE)
            return
        full = path.name.endswith("full.jsonl")
        kind = "full" if full else _LABEL_KINDS[path.suffix]
        text, exported = files.export(core.desk, session.run, kind)
        files.write(core.desk, path, [text], force=taken)
        told = f"{plural(len(exported.rows), 'row')} written to {path}"
        core.say(" · ".join([told, *exported.warnings]), Tone.NOTE)

    if taken:
        core.ask_yes(f"{name} already exists. Replace it?", "Its present content is lost.", write)
    else:
        write()


def _load(core: Core, path: str) -> None:
    """Load a report in the background; then review its run, unless a dialog is open."""
    from reviewdesk.desk.loading import LoadOptions

    options = LoadOptions(audit_share=core.settings.audit_share)

    def work(desk: Desk, report: Report) -> Loaded:
        source = files.source(str(files.named(path)))
        return desk.load(source, options, lambda share, _count: report(share))

    def there(found: Loaded) -> None:
        if not core.asking:
            core.review_run(found.run)
        known = "" if found.new else " (known already)"
        notice = f"loaded {show_line(found.run.name)}: {found.run.verdicts:,} verdicts{known}"
        # The reader's notes depend on the panel's answers, which a blind session hides.
        notes = () if core.session.view.blind else found.notes
        core.say(" · ".join([notice, *map(show_line, notes)]), Tone.NOTE)
        if core.where == RUNS:
            core.page.arrived()

    core.background(LOAD, work, there, what="a report is being loaded")
    core.say(f"loading {show_line(path)}", Tone.NOTE)


VERBS: dict[str, Verb] = {
    "screen.queue": lambda core: core.pane("queue"),
    "screen.item": lambda core: core.pane("item"),
    "screen.calibration": partial(go, where=CALIBRATION),
    "screen.runs": partial(go, where=RUNS),
    "leave": partial(go, where=REVIEW),
    "help": lambda core: core.ask(HelpForm(), lambda action: core.do(action) if action else None),
    "explain": _explain,
    "command": _command,
    "jump": partial(_command, start="go "),
    "run.load": partial(_command, start="open "),
    "export": partial(_command, start="export "),
    "stop": _stop,
    "what.if": _what_if,
    "copy": _copy,
    "quit": close,
    "quit.anywhere": close,
    "palette": _palette,
    "redraw": lambda core: core.request("redraw"),
    "theme": partial(_command, start="theme "),
    "improve": _improve,
}
COMMANDS: dict[str, Callable[[Core, str], object]] = {
    "run": lambda core, name: core.review_run(core.desk.run(name)),
    "compare": _compare,
    "theme": _use_theme,
    "ask": _ask,
    "improve": _improve,
    "open": _load,
    "export": _export,
}

_WHEN_TINY = frozenset({"quit", "quit.anywhere", "help", "palette"})
_VERBS = queue.VERBS | item.VERBS | labels.VERBS
"""The functions that carry out the actions of the review."""


class ReviewController(Core):
    """The review of a desk's runs. Methods that take an event raise no errors of the desk."""

    def __init__(self, desk: Desk, run: Run, view: View, **more: Any) -> None:
        super().__init__(desk, run, view, **more)
        values = usable(edits.kept(desk))
        self.settings = self.settings.with_kept(values)
        widths = {pane: values.get(name) for name, pane in WIDTHS.items()}
        self.arrange(replace(self.panes, **widths))
        self.stored = choices(self)

    @property
    def hints(self) -> dict[str, str]:
        """The words of the footer by their action, the most important first."""
        return {
            name: word if isinstance(word, str) else ACTIONS[name].hint
            for name, word in (_hints(self) if self.page is None else self.page.hints()).items()
            if word and name not in self.keys.withheld
        }

    def take(self) -> tuple[ScreenRequest, ...]:
        taken = tuple(self.requests)
        self.requests.clear()
        return taken

    # in: keys and commands

    def handle(self, name: str) -> None:
        """Carry out an action for a key.

        Nothing happens while a dialog is open: a key typed before it appeared was not meant for
        the screen below.
        """
        if self.asking or (self.panes.tiny and name not in _WHEN_TINY):
            return
        self.review.claims.pressed = True
        self.safely(self._do, name)

    def _do(self, name: str) -> None:
        refuse_withheld(self.keys, name)
        where = ACTIONS[name].where
        if name in MOVES:
            self.request("move", *MOVES[name])
        elif (verb := VERBS.get(name)) is not None:
            verb(self)
        elif self.where not in where:
            go(self, min(where))
            if name in GIVES_LABEL:
                notice = "read the item first: a label is given where it can be read"
                self.say_here(notice, Tone.TEXT)
            elif self.where in where:
                self._do(name)
        elif self.page is not None:
            self.page.verbs[name]()
        else:
            _VERBS[name](self)

    def do(self, name: str) -> None:
        if name in GIVES_LABEL and self.page is None:
            self.safely(labels.confirm, self, name)
        else:
            self.handle(name)

    def run(self, text: str) -> None:
        self.safely(run_command, self, text)

    # in: the terminal

    def begin(self, width: int, height: int) -> None:
        self.resized(width, height)
        self.safely(self.show)

    def settle(self) -> None:
        """Ask for the figures, and offer kept edits, once the item is on screen."""
        self.recalibrate()
        self.assess_ahead()
        self.safely(queue.offer_unsaved, self)

    def look_around(self) -> None:
        """Ask for the index, a backup, a split, and re-runs, of which no key has need."""
        self.safely(self.count_flips)
        self.index()
        self.back_up()
        self.read_halves()
        self.assess_ahead()
        self.look_for_unfinished(tell=True)

    def poll(self) -> None:
        self.safely(store_choices, self)
        self.assess_ahead()
        labels.poll(self)

    def end(self) -> None:
        end(self)

    def flush(self, seconds: float) -> list[str]:
        return queue.flush(self, seconds)

    def resized(self, width: int, height: int) -> None:
        self.arrange(replace(self._panes, width=width, height=height))

    def step(self, lines: int) -> None:
        step = self.page.step if self.where == RUNS else partial(queue.step, self)
        self.safely(step, lines)

    def choose_row(self, index: int) -> None:
        choose = self.page.choose if self.where == RUNS else partial(queue.choose_row, self)
        self.safely(choose, index)

    def rows(self, keys: Sequence[int]) -> list[QueueRow]:
        return self.review.listed(keys)

    def listed(self, keys: Sequence[int]) -> None:
        self.review.exposure.listed(self.session, keys)


def _hints(core: Core) -> Mapping[str, object]:
    """Return the review screen's actions for the footer, the most important first.

    An action whose value is False is left out; a text replaces the word of the registry.
    """
    session = core.session
    item = session.item
    panes = core.panes
    read_only = dict.fromkeys((*GIVES_LABEL, "undo"), False) if core.desk.read_only else {}
    if item is None:
        empty = not session.keys and not session.view.filter
        first = ("screen.runs",) if empty else ("screen.calibration", "filter", "back", "undo")
        return dict.fromkeys((*first, "screen.runs", "help"), True) | read_only
    labels = {
        name: f"{ACTIONS[name].hint} {len(session.chosen):,}" if session.chosen else panes.readable
        for name in ("label.pass", "label.fail", "label.unsure")
    }
    return {
        "next": item.row.decided,
        "adjudicate": item.row.label is Truth.DISPUTED,
        **labels,
        "shallower": bool(session.chosen) and "select none",
        "reveal": session.hidden or item.row.labelled_by_other,
        "search.next": bool(session.found and session.found.places),
        "undo": True,
        "deeper": panes.beside(1) or (not session.hidden and "in full"),
        "filter": True,
        "order": True,
        "search": True,
        "help": True,
        **read_only,
    }
