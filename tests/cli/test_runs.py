"""How far the jurors of a run agree and what the audit of its producer found, headless."""

import re
from contextlib import closing
from pathlib import Path

import pytest

from reviewdesk.domain.assessment.result import Breach
from tests.cli.conftest import Cli
from tests.cli.gatekit import Write
from tests.helpers import open_desk, report, unmeasure, verdict

# Twelve panels of two: eight agree to .1, four differ by .6; their mean of .6 passes.
TWELVE = report(
    *(verdict(f"v{n}", 0.3 + n / 20, 0.4 + n / 20) for n in range(8)),
    *(verdict(f"w{n}", 0.9, 0.3) for n in range(3)),
    verdict(
        "broken", 0.9, 0.3, flagged=True, decision="fail", band="high",
        agreement={"value": 0.9, "metric": "r_wg"},
    ),
)  # fmt: skip


@pytest.fixture
def loaded(cli: Cli, write: Write) -> Cli:
    assert cli("ingest", write("run.json", TWELVE)).code == 0
    return cli


def test_an_empty_desk_says_how_to_fill_it(loaded: Cli) -> None:
    (run,) = loaded("runs", "--json").json
    loaded("runs", "remove", run["run"])
    for command in (["queue"], ["open"], ["calibrate"], ["labels", "list"], ["labels", "export"]):
        done = loaded(*command)
        assert (done.code, done.out) == (2, "")
        assert done.lines == ["no run is loaded yet. Load one: reviewdesk open REPORT."]
    listed = loaded("runs")
    assert (listed.code, listed.out) == (0, "")
    assert listed.err.endswith("No run is loaded yet. Load one: reviewdesk open REPORT.\n")


def test_the_alphas_of_a_run_and_its_breaches_by_kind(loaded: Cli) -> None:
    (row,) = loaded("runs", "--json").json
    # Within: eight times 2·.005, four times 2·.18, so W = .08 + 1.44 = 1.52 over N = 24 ballots.
    # The means are .35 + n/20 and four times .6, the grand mean (8·.525 + 4·.6) / 12 = .55. About
    # it the means have 2·(8·.025² + .105 + 4·.05²) = .24, and within are W/2 = .76, so M2 = 1.00:
    # alpha = 1 - (1.52 / 24) / (1 / 23) = -.45667.
    assert row["alpha"] == pytest.approx(1 - (1.52 / 24) / (1.0 / 23))
    assert row["alpha_low"] < row["alpha"] < row["alpha_high"]
    assert row["alpha_votes"] is not None
    assert row["alpha_ordinal"] is not None
    assert row["alpha_reasons"] == {}
    (row,) = loaded("runs", "--json").json
    # The mean of .9 and .3 passes at .6; their variance of .18 gives 1 - .18 * 12, a low band.
    assert {kind: n for kind, n in row["breaches"].items() if n} == {"decision": 1, "band": 1}
    assert row["breaches"].keys() == {kind.key for kind in Breach}


def test_what_is_undefined_is_null_with_its_reason(cli: Cli, write: Write) -> None:
    cli("ingest", write("few.json", report(verdict("a", 0.9, 0.3), verdict("b", 0.2, 0.1))))
    cli("ingest", write("same.json", report(verdict("a", 0.9, 0.9), report_id="same")))
    few, same = cli("runs", "--json").json
    assert few["alpha"] is not None
    assert (few["alpha_low"], few["alpha_high"]) == (None, None)
    assert few["alpha_reasons"] == dict.fromkeys(("alpha_low", "alpha_high"), "under_ten_units")
    names = ("alpha", "alpha_low", "alpha_high", "alpha_votes", "alpha_ordinal")
    assert same["alpha_reasons"] == dict.fromkeys(names, "no_variation")
    assert [same[name] for name in names] == [None] * 5


def test_a_run_is_a_line_and_an_order_that_is_none_is_refused(loaded: Cli) -> None:
    loaded("label", "broken", "fail")
    head, line = (" ".join(row.split()) for row in loaded("runs").out.splitlines())
    assert head == "run hash verdicts flagged labelled alpha file"
    assert re.fullmatch(r"run [0-9a-f]{8} 12 1 1 -0\.457 .*run\.json", line)
    done = loaded("queue", "--order", "ranges")
    assert done.code == 2
    assert "no order 'ranges'" in done.err
    assert "agreement" in done.err


@pytest.fixture
def older(loaded: Cli, desk_path: Path) -> Cli:
    """The desk as an older version left it."""
    with closing(open_desk(desk_path)) as desk:
        unmeasure(desk.conn)
    return loaded


def test_an_older_run_is_measured_when_it_is_listed(older: Cli) -> None:
    (row,) = older("runs", "--json").json
    assert row["alpha"] == pytest.approx(1 - (1.52 / 24) / (1.0 / 23))
    assert row["breaches"]["band"] == 1


@pytest.mark.parametrize(
    "command", ["queue --filter range>=.5", "queue --order=agreement", "open --order=agreement"]
)
def test_an_older_run_is_measured_when_it_is_filtered_or_ordered(older: Cli, command: str) -> None:
    done = older(*command.split())
    assert done.code == 0
    first = [word for line in done.out.splitlines()[1:5] for word in line.split()]
    assert {"w0", "w1", "w2", "broken"} <= set(first)


def test_runs_are_set_against_earlier_ones_of_the_same_jurors(cli: Cli, write: Write) -> None:
    for week in range(5):
        made = [
            verdict(
                f"{name}{i}",
                # Jurors are split, until in the last week they pass all but what is unsafe.
                *((0.9, 0.9, 0.9) if week == 4 else (0.9, 0.9, 0.2 + 0.6 * (i % 2))),
                score=0.1 if week == 4 and name == "safe" else 0.7 + 0.01 * (i % 9),
                case={"test": f"t{i}", "dimension": name},
                output=f"{week} {i}",
            )
            for i in range(30)
            for name in ("right", "safe")
        ]
        cli(
            "ingest",
            write(f"w{week}.json", report(*made, created_at=f"2026-01-0{week + 1}T00:00:00Z")),
        )
    out = cli("runs").out
    assert "safe swings while the others hold: 0.10, by 4 earlier runs expected in [0.7" in out
    assert "unanimous votes: 1.00, by 4 earlier runs expected in [0." in out
    assert "with 0 labels nobody knows if accuracy rose too" in out
    listed = cli("runs", "--json").json
    assert [one["over_runs"]["swings"] for one in listed] == [None] * 4 + ["safe"]
    assert cli("calibrate", "--jurors", "--json").json["over_runs"] == listed[-1]["over_runs"]
    assert "OVER RUNS" in cli("calibrate", "--jurors").out
