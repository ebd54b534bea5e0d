"""From labels to a better panel: its errors, candidates, tries on the holdout, adoption."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from threading import Event

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.app.controllers.core import Core
from reviewdesk.app.controllers.jobs import PREPARING, TRYING
from reviewdesk.app.controllers.rerun import ask_ceiling, run_until, seldom
from reviewdesk.app.controllers.state import (
    MOVES_AND_CLOSES,
    SCROLLS_AND_CLOSES,
    Act,
    Choice,
    DialogPage,
    Do,
    EditText,
    PageForm,
    PromptForm,
    one_page,
)
from reviewdesk.app.keys.commands import panel_files
from reviewdesk.desk import Desk
from reviewdesk.desk.improve import candidates
from reviewdesk.desk.improve.candidates import PreparedTry
from reviewdesk.desk.improve.split import make_split, split_labels
from reviewdesk.domain.labels.improve import PanelAdopted, SplitLabels, TryVerdict
from reviewdesk.domain.panel.asking import Listener
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import ReviewDeskError
from reviewdesk.views import improve as views
from reviewdesk.views.document import Document, Tone
from reviewdesk.views.panel import consent
from reviewdesk.views.words import money


class _Read(Struct, frozen=True):
    """What the page shows of a run and of the panel file that is improved."""

    panel: Path
    labels: SplitLabels
    offers: Mapping[str, int | None]
    found: tuple[Path, ...]
    """The candidates beside the panel."""


def open_page(core: Core, argument: str = "") -> None:
    """Open the page of a panel file, and ask for the file unless a chosen one exists."""
    if core.session.withheld:
        core.say("the panel's answers are kept back, as your settings say", Tone.MUTED)
        return

    name = argument or core.settings.panel
    if argument or (name and Path(name).expanduser().is_file()):
        _open(core, Path(name).expanduser())
    else:
        form = PromptForm("Panel to improve", complete=panel_files, hint="a panel's file")
        core.ask_text(form, lambda name: _open(core, Path(name).expanduser()) if name else None)


def _open(core: Core, panel: Path, at: int = 0, said: str = "") -> None:
    """Read what the panel gets wrong and what may be changed, which takes seconds, and show it."""
    run = core.session.run

    def read(desk: Desk) -> _Read:
        labels = split_labels(desk, run)
        offers = candidates.offers(desk, labels, panel)
        return _Read(panel, labels, offers, candidates.beside(panel))

    def there(found: _Read) -> None:
        if core.asking or run.hash != core.session.run.hash:
            return
        core.settings = core.settings.choosing({"panel": str(panel.absolute())})
        core.halves = found.labels
        core.say(said, Tone.NOTE)

        def act(answer: tuple[str, str] | None) -> None:
            if answer is not None:
                _STEPS[answer[0]](core, found, answer[1])

        pages = _pages(found)
        turns = {"tab": 1, "shift+tab": -1}
        core.ask(PageForm(pages.__getitem__, len(pages), at, turns), act)

    if not said:
        core.say(f"reading what {show_line(panel.name, 80)} gets wrong …", Tone.MUTED)
    core.background("improve", read, there, fault="nothing to improve")


def _pages(found: _Read) -> tuple[DialogPage, ...]:
    """Return what is wrong, the candidates and the lineage; a step answers its name and a file."""
    split = found.labels.split
    edits = (("e", "edits the panel"),) if split.tuning else ()
    steps = (*edits,)
    if found.labels.later or not split.holdout:
        steps = ("s", "splits the labels"), *edits
    answers = {"s": ("split", ""), "e": ("edit", "")}
    page = partial(
        DialogPage,
        name=show_line(found.panel.name, 80),
        answers={key: answers[key] for key, _ in steps},
        width=112,
    )
    wrong = (*steps, ("tab", "candidates"), *SCROLLS_AND_CLOSES)
    candidates = (("enter", "does it"), *edits, ("tab", "lineage"), *MOVES_AND_CLOSES)
    lineage = (("tab", "what is wrong"), *SCROLLS_AND_CLOSES)
    return (
        page("Improve", wrong, document=views.improve(found.labels)),
        page("Candidates for", candidates, choices=[*_choices(found)]),
        page("Lineage of", lineage, document=views.lineage(split.adopted)),
    )


def _choices(found: _Read) -> Iterator[Choice]:
    """Yield a line for each candidate with its next step, and one for each change to be written."""
    tried = {begun.file: word for begun, word in found.labels.split.tries}
    for path in found.found:
        name = show_line(path.name, 60)
        if tried.get(path.name) is TryVerdict.BETTER:
            yield Choice(f"adopt {name}: it is better", ("adopt", str(path)))
            continue
        word = tried.get(path.name) or "cut off; this continues it"
        yield Choice(f"try {name}" + f": {word}" * (path.name in tried), ("try", str(path)))
    for change, right in found.offers.items():
        if change:
            told = "  ".join(views.right_text(found.labels, right))
            yield Choice(f"write {show_line(change, 60):<30}  {told}", ("write", change))


def _again(core: Core, found: _Read, said: str = "", at: int = 1) -> None:
    """Open the page again, unless a dialog is open by now; report the result of the step."""
    core.say(said, Tone.NOTE)
    if not core.asking:
        _open(core, found.panel, at, said)


def _written(core: Core, found: _Read, path: Path) -> None:
    _again(core, found, f"written: {show_line(str(path), 120)}")


def _split(core: Core, found: _Read, _about: str = "", *, open_labels: bool = False) -> None:
    run = core.session.run

    def ended(_made: object, error: ReviewDeskError | None) -> None:
        if error is None:
            _again(core, found, at=0)
        elif found.labels.left_out and not open_labels:
            again = partial(_split, core, found, open_labels=True)
            why = f"{error.message}. {views.LEANING}"
            core.ask_yes("Split labels not given blind, too?", why, again)
        else:
            core.complain(error)

    work = lambda desk, _report: make_split(desk, run, open_labels=open_labels)  # noqa: E731
    core.jobs.start("splitting", work, ended)


def _edit(core: Core, found: _Read, _about: str = "", text: str = "") -> None:
    """Open the panel in an editor; an unusable text may be edited again."""

    def edited(made: str | None) -> None:
        if made is None:
            told = "the editor ($VISUAL or $EDITOR) saved nothing, so there is no candidate"
            core.say(told, Tone.MUTED)
            return
        try:
            written = candidates.written(found.labels, found.panel, made)
        except ReviewDeskError as error:
            again = partial(_edit, core, found, text=made)
            core.ask_yes("Edit it again?", str(error), again, "there is no candidate")
            return
        _written(core, found, written.path)

    draft = text or candidates.draft(core.desk, found.labels, found.panel)
    core.requests.append(Do("edit", EditText(draft, ".yaml", edited)))


def _write(core: Core, found: _Read, change: str) -> None:
    _written(core, found, candidates.made(core.desk, found.labels, found.panel, change).path)


def _try(core: Core, found: _Read, name: str) -> None:
    """Read what a try would send, ask for consent, and carry it out; it can be stopped."""
    run = core.session.run
    candidate = Path(name)
    shown = show_line(candidate.name, 80)
    guard = core.new_guard()
    most: float | None = None

    def limit(given: float | None) -> None:
        nonlocal most
        most = given

    def there(ready: PreparedTry) -> None:
        if core.asking:
            return
        core.say("")

        def page(_at: int) -> DialogPage:
            told = [views.before_try(len(ready.rows), ready.k, ready.gain, asks=ready.begun.asks)]
            agreed = replace(ready, limits=replace(ready.limits, max_cost=most))
            # Too soon after the page came, nobody can have read it.
            acts: dict[str, Act] = {
                "y": lambda _: agreed if guard.press("y", core.late) else None,
            }
            keys = [("y", "tries it"), ("j k", "scroll"), ("n esc enter", "send nothing")]
            if (plan := ready.plan) is not None:
                told.append(consent(plan, "both panels", ceiling=most))
                keys.insert(1, ("c", "ceiling"))
                acts["c"] = lambda _: ask_ceiling(core, most, limit, plan.check_ceiling)
            return DialogPage(
                "Try", tuple(keys), shown, "" if most is None else f"at most {money(most)}",
                document=Document(tuple(told)), acts=acts, strict=True, width=112,
            )  # fmt: skip

        core.ask(PageForm(page, drawn=guard.shown), answered)

    def answered(ready: PreparedTry | None) -> None:
        if ready is None:
            core.say("nothing was sent", Tone.MUTED)
            return
        stop = Event()

        def work(desk: Desk, report: Callable[[object], bool]) -> object:
            told = seldom(lambda progress: report(progress.done / max(progress.cases, 1)))
            return run_until(candidates.carry_out(desk, ready, Listener(told=told)), stop)

        what = "a candidate is being tried"
        core.jobs.start(TRYING, work, core.unless(ended), what=what, stop=stop, secret=True)
        key = core.keys.first("stop") or ":stop"
        core.say(f"trying {shown} beside its parent; {key} stops", Tone.NOTE)

    def ended(outcome: tuple[TryVerdict | None, object] | None) -> None:
        word = outcome and (outcome[0] or "too many ballots were lost to tell; try it again")
        _again(core, found, f"{shown}: {word or 'stopped; the same try continues later'}")

    core.say(f"reading what trying {shown} would send …", Tone.MUTED)
    prepare = lambda desk: candidates.prepare(desk, run, candidate, found.panel)  # noqa: E731
    core.background(PREPARING, prepare, there, fault="no try")


def _adopt(core: Core, found: _Read, name: str) -> None:
    run = core.session.run
    candidate = Path(name)

    work = lambda desk: candidates.adopt(desk, run, candidate, found.panel)  # noqa: E731

    def there(made: tuple[Path, Path, PanelAdopted]) -> None:
        core.read_halves()
        document = views.adoption(str(made[0]), str(made[1]), made[2])
        page = DialogPage("Adopted", SCROLLS_AND_CLOSES, document=document, width=112)
        core.ask(one_page(page), lambda _: _open(core, found.panel, 2))

    core.ask_yes(
        f"Adopt {show_line(candidate.name, 80)}?",
        f"It takes the place of {show_line(str(found.panel), 200)}, whose file is kept beside it. "
        "The holdout is spent.",
        lambda: core.background("adopting", work, there, fault="nothing was adopted"),
    )


_STEPS: dict[str, Callable[[Core, _Read, str], None]] = {
    "split": _split,
    "edit": _edit,
    "write": _write,
    "try": _try,
    "adopt": _adopt,
}
