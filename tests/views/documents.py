"""A document of every kind, of a sample and of hostile texts."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from msgspec.structs import replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.export.report import run_overview
from reviewdesk.desk.figures.calibration import bias_probes, calibration_page
from reviewdesk.desk.figures.calibration import segments as segments_of
from reviewdesk.desk.figures.jurors import jurors_page, panel_comparison
from reviewdesk.desk.figures.labels_file import file_page, file_rows
from reviewdesk.desk.figures.whatif import what_if as what_if_of
from reviewdesk.desk.figures.whatif import what_if_item
from reviewdesk.desk.gates.suite import run_suite
from reviewdesk.desk.labels.transfer import import_labels
from reviewdesk.desk.live.panel_new import check_panel
from reviewdesk.desk.review.items import of_item
from reviewdesk.desk.review.runs import overview, run_details
from reviewdesk.domain.labels.improve import (
    LabelledCase,
    PanelAdopted,
    Split,
    SplitLabels,
    TryBegun,
    TryFigures,
    TryVerdict,
    WrittenCandidate,
)
from reviewdesk.domain.labels.segments import Composite, SegmentFigures, WeighedDimension
from reviewdesk.domain.labels.team import (
    Disagreement,
    Labels,
    Opinion,
    RatedStratum,
    TeamMember,
    TeamPage,
    rater_agreement,
    self_agreement,
)
from reviewdesk.domain.panel.asking import ConsentPlan, Turnout, Turnouts
from reviewdesk.domain.panel.rerun import RerunHistory, flip_rates
from reviewdesk.domain.records import Item, Pace, Run, Truth
from reviewdesk.domain.run.volatility import AgainstEarlier, EarlierRange, UnanimityWatch
from reviewdesk.domain.stats.figures import Estimate, SimulatedFigure, Target
from reviewdesk.domain.verdict import Decision
from reviewdesk.domain.whatif import attacks
from reviewdesk.reports import Source
from reviewdesk.reports.labels.reader import read_labels
from reviewdesk.views import improve, whatif
from reviewdesk.views import run as run_views
from reviewdesk.views import team as team_views
from reviewdesk.views.calibration import calibration, file_calibration, reliability
from reviewdesk.views.comparison import two_panels
from reviewdesk.views.document import Document, Section
from reviewdesk.views.gates import gates
from reviewdesk.views.json.review import queue_row
from reviewdesk.views.jurors import bias, jurors
from reviewdesk.views.overview import overview as whole_overview
from reviewdesk.views.overview import short_overview
from reviewdesk.views.panel import consent, panel, turnout
from reviewdesk.views.queue import records
from reviewdesk.views.run import composites, segments, simulation
from reviewdesk.views.verdict import headline, jury, result, verdict
from tests.helpers import SAMPLES, load, open_desk, report, tag
from tests.helpers import verdict as body_of
from tests.views.test_panel import FAR, NEAR, SHA

HOSTILE = (
    "\x1b[31mred\x1b[0m [bold]markup[/] <b onclick='x'>&amp;</b> `tick` ``two`` | pipe \\| ## 1. "
    "@ann #12 **strong** \u202eevil\u202c 日本語 e\u0301 \x00\x9b ~~~ --- <details> $x$"
)
JUROR = "\x1b|`<b>`"
"""A name for places where even a wide terminal cuts long ones."""


def hostile_report() -> bytes:
    lines = f"{HOSTILE}\n    {HOSTILE}\n\n- {HOSTILE}"
    again = body_of("a", 0.2, 0.3, 0.8)
    body = body_of(
        f"a {HOSTILE}", 0.9, None, 0.2, flagged=True, input=lines, output=lines, rubric=HOSTILE,
        alternative=lines, reference=[HOSTILE, "second"], bias_warning=HOSTILE,
        case={"test": HOSTILE, "tags": ["tag", HOSTILE]},
        checks=[{"name": HOSTILE, "pass": False, "reason": HOSTILE}, {"name": "x", "pass": None}],
        human={"label": "pass", "by": HOSTILE, "note": HOSTILE},
    )  # fmt: skip
    body["jurors"][0] |= {"id": JUROR, "model": HOSTILE, "reason": lines}
    body["jurors"][1]["error"] = {"message": HOSTILE}
    again["jurors"][0] |= {"id": JUROR, "reason": HOSTILE}
    names = ("id", "case", "input", "output", "rubric", "alternative", "reference")
    again |= {name: body[name] for name in names}
    body["reruns"] = [again]
    return report(
        body, body_of("b"), title=HOSTILE, report_id=HOSTILE[:60],
        producer={"name": HOSTILE, "version": HOSTILE},
        generator={"model": HOSTILE, "vendor": HOSTILE},
    )  # fmt: skip


def of_run(desk: Desk, run: Run) -> Iterator[tuple[str, Document]]:
    """The documents about a run as a whole."""
    page, seated = calibration_page(desk, run), jurors_page(desk, run)
    details = replace(run_details(desk, run), progress=desk.progress(run))
    noted = replace(details, run=replace(details.run, notes=(HOSTILE, "second")))
    yield "calibration", calibration(page)
    yield "calibration of such items", calibration(page, target=Target.ITEMS)
    yield "calibration, blind", calibration(page, blind=True)
    yield "overview", whole_overview(run_overview(desk, run))
    yield "overview in short", short_overview(run_overview(desk, run))
    yield "reliability", reliability(page)
    yield "reliability, blind", reliability(page, blind=True)
    yield "run", run_views.run(noted)
    yield "run, blind", run_views.run(noted, blind=True)
    yield "runs", run_views.run_lines(overview(desk))
    rows = [queue_row(run, row) for row in desk.rows(desk.queue(run))]
    yield "records", records(rows, len(rows), "verdicts")
    yield "jurors", jurors(seated)
    yield "bias", bias(bias_probes(desk, run))
    yield "segments", segments("decision", segments_of(desk, run, "decision"))
    yield "tests", segments("test", segments_of(desk, run, "test"))
    shares = (
        WeighedDimension(HOSTILE, 0.5, 9, 3, 0.5, Estimate(0.6, 0.4, 0.8)),
        WeighedDimension("b", 0.5, 0, 0, None, Estimate(None, 0, 1)),
    )
    weighed = Composite("v1", shares[:1], 0.5, Estimate(0.6, 0.4, 0.8))
    lacking = Composite(HOSTILE, shares, None, Estimate(None, reason="no verdict on b"))
    yield "composites", composites([weighed, lacking])
    checked = SimulatedFigure("sensitivity", 20, 0.01, 0.95, 0.2)
    yield "simulation", simulation([checked, SimulatedFigure("gap", 0, None, None, None)], 20)
    swing = EarlierRange(HOSTILE, 4, 60, 0.8, 0.3, 0.7, 0.9, holds=False)
    calm = EarlierRange("b", 4, 60, 0.8, 0.8, 0.7, 0.9, holds=True)
    for dimensions in ((swing, calm), (swing, swing), (calm, calm)):
        watch = UnanimityWatch(swing if swing in dimensions else calm, 3)
        found = run_views.over_runs(AgainstEarlier(dimensions, watch))
        yield f"over runs {dimensions.count(swing)}", Document(tuple(found))
    rising = UnanimityWatch(EarlierRange("", 4, 60, 0.5, 0.9, 0.4, 0.6, holds=False), 3)
    yield "unanimous", Document(tuple(run_views.over_runs(AgainstEarlier((), rising))))
    parts = replace(page, worst={
        by: SegmentFigures(HOSTILE, 30, 30, 3, Estimate(0.1, 0, end))
        for by, end in (("tag", 0.01), ("test", 1.0))
    }, probes=bias_probes(desk, run))  # fmt: skip
    yield "calibration with parts", calibration(parts, full=True)
    yield "jurors of such items", jurors(seated, target=Target.ITEMS)
    yield "what if", whatif.what_if(what_if_of(desk, run))


def of_verdicts(desk: Desk, run: Run) -> Iterator[tuple[str, Document]]:
    """The documents about single verdicts of a run."""
    listed = [told(desk, desk.item(key)) for key in desk.queue(run)]
    for number, (item, history) in enumerate(listed):
        yield f"verdict {number}", verdict(item, history)
        yield f"jury {number}", jury(item, history, {"rerun": "R"})
        yield f"headline {number}", Document((Section("", headline(item)),))
        yield f"what if {number}", Document((whatif.item_what_if(item),))
        results = what_if_item(item)
        bought = [(row.variant, attacks(item.verdict, row.variant)) for row in results]
        yield f"policies {number}", whatif.policies(item, results, bought)
        for record in of_item(desk, item):
            yield f"re-run {number}", Document((result(item, record),))


def told(desk: Desk, item: Item) -> tuple[Item, RerunHistory]:
    reruns = of_item(desk, item)
    rates = flip_rates([(item.verdict, reruns)])
    return item, RerunHistory(reruns, rates, rates)


def of_panels() -> dict[str, Document]:
    """The documents about a panel: what it is, what is sent to it, and who answered."""
    checked = check_panel(str(SAMPLES / "panel-hosted.yaml"), {})
    plan = ConsentPlan((NEAR, FAR), ("m", HOSTILE), 3, 0.01234, ("A_KEY",), SHA)
    turned = Turnouts({JUROR: Turnout(JUROR, 4)}, {})
    return {
        "panel": panel(replace(checked, malformed=("B_KEY",))),
        "consent": Document((consent(plan, "one juror of p", (1,)),)),
        "turnout": Document((Section("", turnout(turned)),)),
    }


def of_gates() -> Iterator[tuple[str, Document]]:
    """The documents about suites: one that fails, one that cannot be run, with hostile names."""
    found = run_suite(str(SAMPLES / "judge-gates.yml"), lambda: pytest.fail("no run is named"))
    first, second = found.entries
    hostile = replace(first, name=HOSTILE, source=HOSTILE, notes=(HOSTILE,))
    doubtful = replace(second, name=HOSTILE, doubts=(HOSTILE,))
    broken = replace(first, error=f"{HOSTILE}\n{HOSTILE}")
    nasty = replace(found, suite=HOSTILE, entries=(hostile, doubtful, broken))
    yield "gates", gates(found)
    yield "gates, hostile", gates(nasty, representative=True)


def of_team() -> Iterator[tuple[str, Document]]:
    """The documents about several reviewers: none, and two of whom one has a hostile name."""
    nobody = rater_agreement([], ())
    yield "team of nobody", team_views.team(TeamPage((), nobody, 0, False, 0, 0))
    items = Counter[Labels]({("pass", "fail"): 4, ("pass", "pass"): 20, ("fail", "fail"): 3})
    found = rater_agreement([RatedStratum(items)], ("ann", HOSTILE))
    pairs = [(Truth.PASS, Truth.FAIL)] * 3
    members = tuple(
        TeamMember(name, 27, Pace(123.0, 27), self_agreement(pairs)) for name in ("ann", HOSTILE)
    )
    page = TeamPage(members, found, 27, False, 4, 1)
    yield "team", team_views.team(page)
    same = rater_agreement([RatedStratum(Counter[Labels]({("pass", "pass"): 12}), 40)], ("a", "b"))
    yield "team, alike", team_views.team(TeamPage((), same, 13, True, 0, 0))
    at = "2025-01-31T12:00:00+00:00"
    one = Opinion("ann", Truth.PASS, at, None)
    two = Opinion(HOSTILE, Truth.FAIL, at, HOSTILE)
    settled = Opinion(HOSTILE, Truth.UNSURE, at, HOSTILE)
    listed = [
        Disagreement(1, HOSTILE, "ab", None, None, (one, two), None),
        Disagreement(2, "v", "cd", Decision.PASS, 0.9, (one, replace(two, reviewer="cy")), settled),
    ]
    yield "team and where it differs", team_views.team(page, listed)
    yield "team, blind", team_views.team(page, listed, blind=True)


def of_improvement(run: Run) -> Iterator[tuple[str, Document]]:
    """The pages of ``improve``, whose tags, notes, files and ids come from outside."""
    case = LabelledCase(
        1, HOSTILE, b"0", Decision.PASS, None, None, None, 3, 3, 0, 0, Truth.FAIL,
        text="{}", group="g", counts=True, tags=(HOSTILE,), notes=(HOSTILE,),
    )  # fmt: skip
    begun = TryBegun("r", "n", "old", "new", HOSTILE, ("00",), asks=True)
    split = Split("r", {"g"}, seed="s", open_labels=True, tries={"n": (begun, None)})
    labels = SplitLabels(run, split, None, (case,) * 30, (case,), (case,), 1, {0: 9})
    yield "improve", improve.improve(labels, {"": 3, HOSTILE: 4, "examples": None})
    bare = replace(labels, split=Split("r"), tuning=(), holdout=())
    yield "improve: no split", improve.improve(bare)
    path = Path(HOSTILE.replace("/", "") + ".yaml")
    lines = ("@@", f"-{HOSTILE}", f"+{HOSTILE}")
    yield "candidate", improve.candidate(WrittenCandidate(path, path, lines, asks=True))
    yield "before a try", Document((improve.before_try(9, 2, None, asks=False),))
    figures = TryFigures(0.7, 0.8, 0.1, 0.01, 0.2, 0.95, 90, 12, 3)
    adopted = PanelAdopted(
        "r", "2026-11-27T20:00:00", "n", HOSTILE, "new", HOSTILE, "s", 3, TryVerdict.BETTER, figures
    )
    yield "adoption", Document((improve.adoption(adopted),))


@cache
def documents() -> dict[str, Document]:
    """A document of every kind: of a sample whose verdicts have labels, and of hostile texts."""
    labels = SAMPLES / "library-desk-truth.jsonl"
    rows = Source.from_path(SAMPLES / "labels-example.jsonl")
    found = {
        "labels file": file_calibration(file_page(file_rows(rows))), **of_panels(),
        **dict(of_gates()), **dict(of_team()),
    }  # fmt: skip
    with TemporaryDirectory() as folder, closing(open_desk(Path(folder) / "d")) as desk:
        run = desk.load(Source.from_path(SAMPLES / "library-desk.jsonl")).run
        found["no labels"] = calibration(calibration_page(desk, run))
        found["overview without labels"] = whole_overview(run_overview(desk, run))
        import_labels(desk, run, read_labels(Source.from_path(labels)))
        found |= of_run(desk, run)
        sample = desk.load(Source.from_path(SAMPLES / "hostile.json")).run
        found |= {f"sample: {name}": made for name, made in of_verdicts(desk, sample)}
        nasty = load(desk, hostile_report(), f"{HOSTILE[:40].replace('/', '')}.json")
        other = json.loads(hostile_report()) | {"report_id": f"again {HOSTILE[:40]}"}
        again = load(desk, json.dumps(other).encode(), "again.json")
        for key in desk.queue(nasty):
            desk.note(key, HOSTILE)
            tag(desk, key, ["<b> &amp; `x`", "second"])
            desk.label(key, Truth.PASS)
        compared = panel_comparison(desk, nasty, again)
        found["panels"] = two_panels(compared)
        found["no panels"] = two_panels(panel_comparison(desk, nasty, run))
        for made in (of_run, of_verdicts):
            found |= {f"hostile: {name}": one for name, one in made(desk, nasty)}
        found |= dict(of_improvement(nasty))
    return found
