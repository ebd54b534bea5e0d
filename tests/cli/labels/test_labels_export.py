"""What ``labels export`` writes besides JSON Lines: YAML, counts, and rows drawn by weight."""

import json

import pytest
import yaml

from tests.cli.conftest import Cli, give, rows
from tests.cli.gatekit import FOUR, Write
from tests.helpers import numbered, report, verdict

SOURCES = ("support", "score", "reported", "vote_share")


@pytest.fixture
def census(cli: Cli, write: Write) -> Cli:
    """Four verdicts, one in each cell: the panel passes a and b, fails c and d."""
    cli("ingest", write("report.json", report(*FOUR)))
    give((("a", "pass"), ("b", "fail"), ("c", "fail"), ("d", "pass")))
    return cli


@pytest.mark.parametrize("source", SOURCES[:2] + SOURCES[3:])
def test_yaml_holds_the_rows_of_the_lines(census: Cli, source: str) -> None:
    option = ("--confidence", source)
    done = census("labels", "export", "--format", "yaml", *option)
    assert yaml.safe_load(done.out) == rows(census("labels", "export", *option))
    assert f'# confidence_source: "{source}"' in done.out.splitlines()
    full = rows(census("labels", "export", "--format", "full", *option))
    assert {row["confidence_source"] for row in full} == {source}
    pairs = {(row["confidence"], row["correct"]) for row in full}
    assert pairs == {(row["confidence"], row["correct"]) for row in yaml.safe_load(done.out)}


def test_each_source_has_its_own_confidence(census: Cli) -> None:
    # a: 0.9, 0.8, 0.7 have mean 0.8, and all three vote pass. c: 0.2, 0.3, 0.1 have mean 0.2, and
    # all three vote fail. No juror reports a confidence of its own.
    exports = {one: rows(census("labels", "export", "--confidence", one)) for one in SOURCES}
    found = {one: sorted({row["confidence"] for row in made}) for one, made in exports.items()}
    assert found == {
        "support": pytest.approx([0.8]),
        "score": pytest.approx([0.2, 0.8]),
        "reported": [],
        "vote_share": [1.0],
    }


@pytest.mark.parametrize("kind", ["mcptest", "yaml", "full", "csv"])
def test_rows_without_a_confidence_are_counted(census: Cli, kind: str) -> None:
    done = census("labels", "export", "--format", kind, "--confidence", "reported")
    assert done.code == 0
    assert "4 labelled verdicts have no confidence of the kind reported" in done.err


@pytest.mark.parametrize("kind", ["mcptest", "yaml"])
def test_both_forms_give_the_figures_of_the_desk(census: Cli, write: Write, kind: str) -> None:
    path = write("labels", census("labels", "export", "--format", kind).out.encode())
    file, desk = census("calibrate", path, "--json").json, census("calibrate", "--json").json
    for name in ("n", "ece", "brier", "gap", "accuracy"):
        assert file[name] == desk[name]


def test_no_labels_are_an_empty_list(cli: Cli, write: Write) -> None:
    cli("ingest", write("report.json", numbered(3)))
    done = cli("labels", "export", "--format", "yaml")
    assert yaml.safe_load(done.out) == []
    found = cli("calibrate", write("none.yaml", done.out.encode()), "--json").json
    assert (found["n"], found["ece"], len(found["warnings"])) == (0, 0.0, 1)


def test_a_name_cannot_leave_its_comment(cli: Cli, write: Write) -> None:
    name = "x\n- evil: 1\x85\u2028\x1b[31m"
    cli("ingest", write("report.json", report(verdict("a"), report_id=name)))
    cli("label", "a", "pass")
    done = cli("labels", "export", "--format", "yaml")
    assert done.out.isascii()
    assert done.out.replace("\n", "").isprintable()
    assert yaml.safe_load(done.out) == [{"confidence": 0.8, "correct": True}]


def test_an_export_without_rows_says_why(cli: Cli, write: Write) -> None:
    # Neither threshold nor quorum is known, so that the panel decides nothing.
    bare = [{"id": "j", "score": 0.4}]
    named = [{"id": n, "case": {"test": n}, "output": n, "jurors": bare} for n in ("a", "b", "c")]
    head = {"schema": "reviewdesk.report/1", "report_id": "bare", "verdicts": named}
    cli("ingest", write("bare.json", json.dumps(head).encode()))
    cli("label", "a", "fail")
    cli("label", "b", "pass")
    done = cli("labels", "export")
    assert (done.code, done.out) == (0, "")
    assert "2 labels are left out: the run states no decision of pass or fail there" in done.err
    assert "--format full" in done.err
    assert "--threshold" in done.err


def test_an_export_says_that_unsure_labels_make_no_row(census: Cli) -> None:
    census("label", "a", "unsure")
    done = census("labels", "export")
    assert len(rows(done)) == 3
    assert "1 label is left out as unsure; --format full writes them" in done.err
