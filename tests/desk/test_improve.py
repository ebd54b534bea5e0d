"""The way from labels to a better panel, against a local endpoint with known behaviour."""

import asyncio
import itertools
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk import improve as candidates
from reviewdesk.desk.core import Desk
from reviewdesk.desk.labels.split import make_split, split_labels
from reviewdesk.domain.labels.improve import Half, SplitLabels, TryVerdict
from reviewdesk.domain.panel.asking import Listener, Turnouts
from reviewdesk.domain.records import Run, Truth
from reviewdesk.domain.stats.correction import Cells
from reviewdesk.errors import UsageError
from reviewdesk.live.limits import World
from reviewdesk.live.wires.transport import HttpTransport
from reviewdesk.store import reruns
from reviewdesk.views import improve as views
from tests.helpers import load, open_desk, report, tag, verdict
from tests.live.builders import KEYS, FakeClock
from tests.live.server import Seen, Server
from tests.live.server import verdict as reply

ITEMS = 64
FIX = "Pass only what is true."


def good(n: int) -> bool:
    return n % 4 != 0


def report_of(start: int, count: int) -> bytes:
    """A panel that passes all; its jurors and models are those of the panel file."""
    bodies = []
    for n in range(start, start + count):
        body = verdict(f"v{n}", output=f"{'true' if good(n) else 'false'} answer {n}")
        for seat in body["jurors"]:
            seat["model"] = "m"
        bodies.append(body)
    return report(*bodies, report_id=f"run{start}")


def label_all(desk: Desk, run: Run) -> None:
    for row in desk.rows(desk.queue(run)):
        n = int(row.id[1:])
        desk.label(row.key, Truth.PASS if good(n) else Truth.FAIL, blind=True)
        desk.note(row.key, f"note-of-v{n}")
        tag(desk, row.key, [f"tag-of-v{n}"])


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    with closing(open_desk(tmp_path / "desk.db")) as found:
        label_all(found, load(found, report_of(0, ITEMS)))
        yield found


def panel_file(folder: Path, url: str = "http://127.0.0.1:9/v1") -> Path:
    path = folder / "panel.yaml"
    seats = "".join(
        f"  - {{name: j{n}, model: m, vendor: custom, base_url: '{url}'}}\n" for n in (1, 2, 3)
    )
    path.write_text(f"name: panel\nstrategy: mean\nthreshold: 0.6\njurors:\n{seats}")
    return path


def judge(seen: Seen) -> str:
    """Pass everything, unless the rubric asks for the truth."""
    passes = FIX not in seen.user or "true answer" in seen.user.rpartition("Response")[2]
    return reply(seen, **{"pass": passes, "score": 0.9 if passes else 0.1})


def world() -> World:
    return World(KEYS, FakeClock(), HttpTransport)


def written(labels: SplitLabels, panel: Path, rubric: str) -> Path:
    """A candidate with another rubric, edited in a draft as a person does."""
    text = candidates.draft(labels, panel).replace("rubric: is right", f"rubric: {rubric}")
    return candidates.written(labels, panel, text).path


async def tried(
    desk: Desk, run: Run, candidate: Path, **more: Any
) -> tuple[TryVerdict | None, Turnouts]:
    ready = candidates.prepare(desk, run, candidate)
    return await candidates.carry_out(desk, ready, Listener(**more), world())


@pytest.mark.slow
def test_the_lists_and_drafts_hold_the_tuning_half_alone(desk: Desk, tmp_path: Path) -> None:
    (run,) = desk.runs()
    labels = make_split(desk, run)
    assert (len(labels.tuning), len(labels.holdout)) == (ITEMS // 2, ITEMS // 2)
    panel = panel_file(tmp_path)
    labels = split_labels(desk, run)
    # Strata are balanced by label: half of the 16 that should fail are in the tuning half.
    assert labels.cells == Cells(tp=24, fp=8)
    offers = candidates.offers(labels, panel)
    told = str(views.improve(labels, offers)) + candidates.draft(labels, panel)
    for one in labels.holdout:
        for mark in (f"'{one.id}'", f" {one.id}:", f"{one.notes[0]}'", f"{one.tags[0]}'"):
            assert mark not in told, one.id
    assert {labels.split.half(one.group) for one in labels.holdout} == {Half.HOLDOUT}
    with pytest.raises(UsageError, match="nothing was labelled since"):
        make_split(desk, run)


@pytest.mark.slow
async def test_a_fix_that_helps_is_better_and_sends_no_holdout(desk: Desk, tmp_path: Path) -> None:
    (run,) = desk.runs()
    labels = make_split(desk, run)
    async with Server(judge) as server:
        panel = panel_file(tmp_path, server.url)
        helps = written(labels, panel, FIX)
        shots = candidates.made(labels, panel, "examples").path
        same = written(labels, panel, "is right, of course")
        assert (await tried(desk, run, same))[0] is TryVerdict.NOT_SHOWN
        assert (await tried(desk, run, shots))[0] is TryVerdict.NOT_SHOWN
        assert len(server.calls) == 2 * 2 * 3 * len(labels.asked)
        assert (await tried(desk, run, helps))[0] is TryVerdict.BETTER
        examples = {f"v{n}" for n in range(ITEMS) if f"answer {n}\n" in shots.read_text()}
        assert len(examples) == 4
        for seen in server.calls:
            text = seen.body.decode()
            assert "note-of" not in text
            assert "tag-of" not in text
            rubric = seen.user.partition("\nInput:\n")[0]
            shown = {f"v{n}" for n in range(ITEMS) if f"answer {n}\n" in rubric}
            assert shown in (set(), examples)
            assert not shown & {one.id for one in labels.holdout}
            if not shown:
                assert "Verdict:" not in text
    with pytest.raises(UsageError, match="its try says not shown"):
        candidates.adopt(desk, run, same)
    assert not split_labels(desk, run).split.adopted
    before = panel.read_bytes()
    _, kept, adopted = candidates.adopt(desk, run, helps)
    assert panel.read_bytes() == helps.read_bytes()
    assert kept.read_bytes() == before
    figures = adopted.figures
    # All are passed before, and a quarter should fail; the fix is right on all.
    assert (figures.before, figures.after, figures.gain) == pytest.approx((0.75, 1.0, 0.25))
    assert (figures.asked, figures.gained, figures.lost) == (ITEMS // 2, ITEMS // 8, 0)
    assert (adopted.tries, adopted.verdict) == (3, TryVerdict.BETTER)
    assert figures.level == pytest.approx(1 - 2 * 0.025 / 4)
    spent = split_labels(desk, run)
    assert (len(spent.tuning), spent.holdout, spent.split.tries) == (ITEMS, [], {})
    assert spent.split.adopted == [adopted]
    with pytest.raises(UsageError, match="is spent"):
        candidates.prepare(desk, run, shots)
    more = load(desk, report_of(ITEMS, 24))
    label_all(desk, more)
    # The labels of another run of the rubric are halved by themselves. Its ballots were given under
    # the rubric of its cases, so that any change of the adopted panel has to be asked.
    assert len(make_split(desk, more).holdout) == 12
    rule = candidates.made(split_labels(desk, more), panel, "threshold=0.7")
    ready = candidates.prepare(desk, more, rule.path)
    assert rule.asks
    assert {case.case.rubric for case in ready.cases()} == {FIX}


@pytest.mark.slow
def test_what_was_tuned_on_under_one_rubric_tests_no_change_under_another(desk: Desk) -> None:
    (run,) = desk.runs()
    tuned = {one.group for one in make_split(desk, run).tuning}
    bodies = [verdict(f"v{n}", output=f"answer {n}", rubric=FIX) for n in range(ITEMS)]
    other = load(desk, report(*bodies, report_id="other"))
    label_all(desk, other)
    found = make_split(desk, other)
    assert tuned <= {one.group for one in found.tuning}
    assert len(found.holdout) == ITEMS // 2


@pytest.mark.slow
async def test_try_that_was_cut_off_is_same_try_and_pays_once(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = desk.runs()
    labels = make_split(desk, run)
    count = itertools.count()
    async with Server(judge) as server:
        helps = written(labels, panel_file(tmp_path, server.url), FIX)
        task: asyncio.Task[Any]

        def stop(_: object) -> None:
            if next(count) == 40:
                task.cancel()

        task = asyncio.create_task(tried(desk, run, helps, told=stop))
        with pytest.raises(asyncio.CancelledError):
            await task
        ((cut, word),) = split_labels(desk, run).split.tries.values()
        assert word is None
        # Another process continues it, although the one that was stopped lives on.
        monkeypatch.setattr(reruns, "is_other_alive", lambda *_: True)
        assert desk.undo() is not None  # a tag, and never a try
        ready = candidates.prepare(desk, run, helps)
        assert (ready.k, ready.begun.name) == (0, cut.name)
        assert ready.plan is not None
        assert ready.plan.stored >= 40
        made = await candidates.carry_out(desk, ready, Listener(), world())
        assert made[0] is TryVerdict.BETTER
        calls = {(seen.user.replace(seen.nonce, ""), seen.system) for seen in server.calls}
        # Three jurors have one prompt, and a call that the stop cut off may have been seen.
        assert len(calls) == 2 * len(labels.asked)
        assert 6 * len(labels.asked) <= len(server.calls) <= 6 * len(labels.asked) + 16
        ((one, word),) = split_labels(desk, run).split.tries.values()
        assert (one.name, word) == (cut.name, TryVerdict.BETTER)
        with pytest.raises(UsageError, match="tried on these items before: better"):
            candidates.prepare(desk, run, helps)


@pytest.mark.slow
async def test_a_rule_is_tried_on_the_ballots_that_are_there(desk: Desk, tmp_path: Path) -> None:
    (run,) = desk.runs()
    labels = make_split(desk, run)
    panel = panel_file(tmp_path)
    for change in ("threshold=0.95", "without=j1", "strategy=median"):
        found = candidates.made(labels, panel, change)
        assert not found.asks
        ready = candidates.prepare(desk, run, found.path)
        assert ready.plan is None
        made = await candidates.carry_out(
            desk, ready, Listener(), World({}, FakeClock(), HttpTransport)
        )
        # At 0.95 all fail, which is right on a quarter of the items and not on three quarters.
        wanted = TryVerdict.WORSE if change.startswith("threshold") else TryVerdict.NOT_SHOWN
        assert made[0] is wanted, change
    assert len(split_labels(desk, run).split.tries) == 3
    assert candidates.made(labels, panel, "model=j1:n").asks
    for change, says in (("colour=red", "no change"), ("without=j9", "no juror 'j9'")):
        with pytest.raises(UsageError, match=says):
            candidates.made(labels, panel, change)


def test_open_labels_are_split_on_request_alone(tmp_path: Path) -> None:
    with closing(open_desk(tmp_path / "open.db")) as desk:
        run = load(desk, report_of(0, ITEMS))
        for key in list(desk.queue(run)):
            desk.label(key, Truth.PASS, blind=False)
        with pytest.raises(UsageError, match="0 blind labels"):
            make_split(desk, run)
        labels = make_split(desk, run, open_labels=True)
        assert labels.split.open_labels
        assert len(labels.holdout) == ITEMS // 2
