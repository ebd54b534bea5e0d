"""``gate --report``: the labels of a suite judge the panel of a new report, or say why not."""

import gzip
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli, Done, once
from tests.cli.gatekit import FAILS, Write, asking, only_entry, values, xml_of
from tests.helpers import mostly_slow, report, verdict

STRICT = "--require-representative"
Body = dict[str, Any]
Change = Callable[[list[Body]], list[Body]]


def run_of(count: int, **more: Any) -> list[Body]:
    """Every third verdict fails, and every fourth is flagged."""
    return [
        verdict(f"v{at:02}", *(FAILS if at % 3 == 0 else ()), flagged=at % 4 == 0, **more)
        for at in range(count)
    ]


def judged(body: Body, *scores: float) -> Body:
    """The same content, as another panel decides it."""
    new = verdict(body["id"], *scores)
    return {**body, **{key: new[key] for key in ("decision", "score", "jurors")}}


def truths(cli: Cli, wrong: int = 0) -> bytes:
    """A label for every verdict of the run: against the panel for the first ``wrong`` ones."""
    rows = cli("queue", "--json").json
    other = {"pass": "fail", "fail": "pass"}
    said = [
        other[row["decision"]] if at < wrong else row["decision"] for at, row in enumerate(rows)
    ]
    told = [{"id": row["id"], "truth": one} for row, one in zip(rows, said, strict=True)]
    return "".join(f"{json.dumps(row)}\n" for row in told).encode()


class Suite:
    """A suite over twenty labels, all as the panel decided, and what gates it against a report."""

    def __init__(self, cli: Cli, write: Write, folder: Path, bodies: list[Body]) -> None:
        self.cli, self.write, self.folder, self.bodies = cli, write, folder, bodies
        once(folder.parent, f"suite {report(*bodies)!r}", self._make)
        self.expect("accuracy", "minimum: 0.7")

    def _make(self) -> None:
        self.cli("ingest", self.write("old.json", report(*self.bodies)))
        self.cli("labels", "import", self.write("truths.jsonl", truths(self.cli)))
        assert self.cli("labels", "export", "--format", "suite", "-o", self.folder).code == 0

    def expect(self, target: str, limit: str) -> None:
        path = self.folder / "suite.yml"
        head = path.read_text(encoding="utf-8").split("    expect:\n")[0]
        line = f"      - {{ target: {target}, matcher: {{ schema: {{ {limit} }} }} }}\n"
        path.write_text(f"{head}    expect:\n{line}", encoding="utf-8")

    def gate(self, bodies: list[Body] | bytes, *options: str | Path) -> Done:
        data = bodies if isinstance(bodies, bytes) else report(*bodies, report_id="new")
        path = self.write("new.json", data)
        return self.cli("gate", self.folder / "suite.yml", "--report", path, *options)


@pytest.fixture
def twenty(cli: Cli, write: Write, tmp_path: Path) -> Suite:
    return Suite(cli, write, tmp_path / "judge", run_of(20))


def test_a_worse_judge_fails_where_the_suite_by_itself_passes_and_the_desk_is_left(
    twenty: Suite,
) -> None:
    assert twenty.gate(twenty.bodies, STRICT).code == 0
    worse = [judged(body, 0.9, 0.8, 0.7) for body in twenty.bodies]
    done = twenty.gate(worse, STRICT)
    # It passes the 7 of 20 that should fail, which leaves 13 right.
    assert (done.code, "accuracy is 0.65" in done.out) == (1, True)
    assert twenty.cli("gate", twenty.folder / "suite.yml").code == 0
    before = twenty.cli("runs", "--json").json
    twenty.gate(twenty.bodies)
    assert twenty.cli("runs", "--json").json == before


def shuffled(bodies: list[Body]) -> list[Body]:
    made = [{**body, "id": f"other-{at}"} for at, body in enumerate(bodies)]
    random.Random(3).shuffle(made)  # noqa: S311 - dice, not secrets
    return made


def changed(key: str, count: int) -> Change:
    return lambda bodies: [
        {**body, key: f"new {body[key]}"} if at < count else body for at, body in enumerate(bodies)
    ]


@pytest.mark.parametrize(
    ("change", "code", "strict", "told"),
    mostly_slow([
        (shuffled, 0, 0, "20 of 20 labels joined,"),
        (lambda bodies: [*bodies, *run_of(23)[20:]], 0, 0, "3 contents of the report are not in"),
        (lambda bodies: bodies * 1 + [{**one, "id": f"{one['id']}b"} for one in bodies], 0, 0,
         "20 of 20 labels joined,"),
        (lambda bodies: bodies[2:], 0, 3, "18 of 20 labels joined, 2 not in the report"),
        (lambda bodies: bodies[3:], 3, 3, "17 of 20 labels joined, 3 not in the report"),
        (lambda _bodies: [], 2, 2, "0 of 20 labels joined, 20 not in the report"),
        (changed("output", 2), 0, 3, "18 of 20 labels joined, 2 answer changed"),
        (changed("output", 3), 3, 3, "17 of 20 labels joined, 3 answer changed"),
        (changed("rubric", 3), 3, 3, "17 of 20 labels joined, 3 answer changed"),
        (changed("rubric", 20), 2, 2, "0 of 20 labels joined, 20 answer changed"),
        (lambda bodies: shuffled(changed("output", 20)(bodies)), 2, 2, "20 not in the report"),
        (lambda bodies: [{**body, "output": None} for body in bodies], 2, 2,
         "0 of 20 labels joined, 20 without an answer to compare"),
    ]),
    ids=["renamed", "extra", "twice", "two gone", "three gone", "all gone", "two changed",
         "three changed", "rubric of three", "rubric", "all renamed and changed", "no answers"],
)  # fmt: skip
def test_labels_join_by_content_and_say_how_many(
    twenty: Suite, change: Change, code: int, strict: int, told: str
) -> None:
    made = change(twenty.bodies)
    done = twenty.gate(made)
    assert (done.code, twenty.gate(made, STRICT).code) == (code, strict)
    assert told in done.out + done.err
    assert ("not shown: the judge of run (only 17 of 20" in done.err) is (code == 3)


def test_what_labels_are_drawn_from_must_be_there(cli: Cli, write: Write, tmp_path: Path) -> None:
    # 100 verdicts: the flagged 25 and 30 of the rest are labelled; the report lacks one without.
    bodies = run_of(100)
    cli("ingest", write("old.json", report(*bodies)))
    rows = cli("queue", "--json").json
    asked = [row for row in rows if row["audit"] or row["stratum"].startswith("flagged")]
    told = [json.dumps({"id": row["id"], "truth": row["decision"]}) for row in asked]
    cli("labels", "import", write("truths.jsonl", "\n".join(told).encode()))
    cli("labels", "export", "--format", "suite", "-o", tmp_path)
    text = (tmp_path / "suite.yml").read_text(encoding="utf-8").split("    expect:")[0]
    line = "    expect: [{ target: ece, matcher: { schema: { maximum: 0.5 } } }]\n"
    (tmp_path / "suite.yml").write_text(text + line, encoding="utf-8")
    free = next(at for at, body in enumerate(bodies) if body["id"] not in {r["id"] for r in asked})
    for made, code in ((bodies, 0), (bodies[:free] + bodies[free + 1 :], 3)):
        new = write("new.json", report(*made, report_id="new"))
        done = cli("gate", tmp_path / "suite.yml", "--report", new, STRICT)
        assert done.code == code, done.err
    assert done.err == (
        "not representative: the judge of run (the report lacks 1 of the 100 contents that labels "
        "are drawn from)\n"
    )


def bare(count: int) -> list[Body]:
    """Verdicts of which the report has no answer, only a question."""
    return run_of(count, output=None)


@pytest.mark.parametrize(
    ("change", "code", "told"),
    [
        (lambda bodies: bodies[::-1], 0, "20 of 20 labels joined"),
        (shuffled, 2, "20 not in the report"),
        (changed("input", 3), 3, "17 of 20 labels joined, 3 answer changed"),
        (lambda bodies: [{**one, "output": "an answer"} for one in bodies], 2,
         "20 without an answer to compare"),
    ],
    ids=["in another order", "renamed", "other questions", "answers on one side"],
)  # fmt: skip
def test_ids_join_only_where_neither_side_has_an_answer(
    cli: Cli, write: Write, tmp_path: Path, change: Change, code: int, told: str
) -> None:
    suite = Suite(cli, write, tmp_path / "judge", bare(20))
    done = suite.gate(change(suite.bodies))
    assert (done.code, told in done.out + done.err) == (code, True)


def test_a_suite_without_a_frame_says_so(twenty: Suite) -> None:
    path = twenty.folder / "suite.yml"
    text = path.read_text(encoding="utf-8").replace("    frame: ./frame.jsonl\n", "")
    path.write_text(text, encoding="utf-8")
    done = twenty.gate(twenty.bodies)
    assert (done.code, "20 of 20 labels joined" in done.out) == (0, True)
    done = twenty.gate(twenty.bodies, STRICT)
    told = "the suite does not list what its labels are drawn from: export it again"
    assert (done.code, done.err) == (3, f"not representative: the judge of run ({told})\n")


@pytest.mark.parametrize(
    ("decided", "code", "told"),
    [
        (20, 0, ""),
        (18, 0, ""),
        (17, 3, "the panel decided only 17 of the 20 joined labels"),
        (0, 2, "has no decision and confidence for any of the 20 joined labels"),
    ],
)
def test_an_undecided_panel_is_not_shown(twenty: Suite, decided: int, code: int, told: str) -> None:
    made = [
        body if at < decided else {**body, "decision": "inconclusive"}
        for at, body in enumerate(twenty.bodies)
    ]
    done = twenty.gate(made)
    assert (done.code, told in done.err) == (code, True)


def test_gzip_and_standard_input(twenty: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    data = report(*twenty.bodies, report_id="new")
    assert twenty.gate(gzip.compress(data)).code == 0

    class Stdin:
        buffer = io.BytesIO(data)

    monkeypatch.setattr("sys.stdin", Stdin)
    done = twenty.cli("gate", twenty.folder / "suite.yml", "--report", "-")
    assert (done.code, "of stdin: 20 of 20 labels joined" in done.out) == (0, True)


@pytest.mark.parametrize(
    ("data", "told"),
    [(b"{", "new.json"), (b"", "new.json"), (b'{"a": 1}', "new.json"), (None, "gone.json")],
)
def test_a_report_that_cannot_be_read_is_one_line(
    twenty: Suite, data: bytes | None, told: str, tmp_path: Path
) -> None:
    if data is None:
        suite = twenty.folder / "suite.yml"
        done = twenty.cli("gate", suite, "--report", tmp_path / "gone.json")
    else:
        done = twenty.gate(data)
    assert (done.code, len(done.err.splitlines()), told in done.err) == (2, 1, True)


def table(rows: list[tuple[str, str, float]]) -> bytes:
    lines = [f"{name},{name} asks,{name} answers,{judge},{score}"
             for name, judge, score in rows]  # fmt: skip
    return "\n".join(["id,input,output,judge,score", *lines]).encode()


def test_a_report_of_another_format(cli: Cli, write: Write, tmp_path: Path) -> None:
    rows = [
        (f"v{at:02}", judge, score)
        for at in range(20)
        for judge, score in (("a", 0.02 if at % 2 else 0.98), ("b", 0.04 if at % 2 else 0.96))
    ]
    options = ("--threshold", "0.5", "--strategy", "mean")
    cli("ingest", write("old.csv", table(rows)), *options)
    cli("labels", "import", write("truths.jsonl", truths(cli)))
    assert cli("labels", "export", "--format", "suite", "-o", tmp_path / "judge").code == 0
    suite = tmp_path / "judge" / "suite.yml"
    suite.write_text(suite.read_text(encoding="utf-8").replace("0.8 }", "0.2 }"), encoding="utf-8")
    new = write("new.csv", table([*reversed(rows)]))
    done = cli("gate", suite, "--report", new, *options)
    assert (done.code, "20 of 20 labels joined" in done.out) == (0, True)
    worse = write("worse.csv", table([(name, judge, 0.9) for name, judge, _ in rows]))
    assert cli("gate", suite, "--report", worse, *options).code == 1
    # Without them, the table has scores and no decision.
    lost = cli("gate", suite, "--report", new)
    assert (lost.code, "read it with the options of the first report" in lost.err) == (2, True)


def asking_suite(cli: Cli, write: Write, folder: Path, told: list[dict[str, str]]) -> Path:
    """The suite of a desk with these labels, which asks for every figure."""
    cli("labels", "import", write("truths.jsonl", "\n".join(map(json.dumps, told)).encode()))
    cli("labels", "export", "--format", "suite", "-o", folder)
    path = folder / "suite.yml"
    head = path.read_text(encoding="utf-8").split("    expect:", maxsplit=1)[0]
    path.write_text(f"{head}    expect:\n{asking(*FIGURES)}", encoding="utf-8")
    return path


FIGURES = (
    *("n", "ece", "brier", "gap", "accuracy", "auroc", "sensitivity", "specificity", "kappa"),
    *("corrected_rate", "honest_rate", "accuracy_low", "accuracy_high", "specificity_low"),
    *("sensitivity_low", "kappa_low", "brier_low", "brier_high", "gap_low", "honest_rate_low"),
)


RUN = "calibration:\n  - name: n\n    run: {}\n    expect:\n"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["census", "weighted"])
def test_figures_are_those_of_the_desk(cli: Cli, write: Write, tmp_path: Path, kind: str) -> None:
    """The same panel gives what its run gives; with a label for each item, another does too."""
    dice = random.Random(kind)  # noqa: S311 - dice, not secrets
    bodies = run_of(60)
    cli("ingest", write("old.json", report(*bodies)))
    rows = cli("queue", "--json").json
    told = []
    for row in rows:
        if kind == "census" or row["audit"] or row["stratum"].startswith("flagged"):
            right = dice.random() < 0.85
            other = {"pass": "fail", "fail": "pass"}[row["decision"]]
            told.append({"id": row["id"], "truth": row["decision"] if right else other})
    path = asking_suite(cli, write, tmp_path, told)
    assert cli("calibrate", "--json").json["design"] == kind
    flipped = [
        judged(body, *(() if body["decision"] == "fail" else FAILS))
        if dice.random() < 0.2
        else body
        for body in bodies
    ]
    for name, made in (("same", bodies), ("flipped", flipped)):
        new = write(f"{name}.json", report(*made, report_id=name))
        found = values(cli("gate", path, "--report", new, "--json"))
        if name == "flipped" and kind == "weighted":
            continue
        cli("ingest", new)
        text = RUN.format(name) + asking(*FIGURES)
        itself = values(cli("gate", write("run.yml", text.encode()), "--json"))
        # The strata of a census bear on intervals alone, and are those of the first panel here.
        same = [key for key in itself if name == "same" or not key.endswith(("_low", "_high"))]
        assert {key: found[key] for key in same} == {
            key: pytest.approx(itself[key], abs=1e-9) for key in same
        }
    # A suite that names the run in the place of a file says the same of the last report.
    text = RUN.format("run") + asking(*FIGURES)
    named = cli("gate", write("run.yml", text.encode()), "--report", new, "--json")
    assert values(named) == {key: pytest.approx(found[key], abs=1e-9) for key in found}


@pytest.mark.parametrize("rest", mostly_slow([12, 0]))
def test_shared_contents_say_the_same(cli: Cli, write: Write, tmp_path: Path, rest: int) -> None:
    """A verdict without a decision draws each of nine contents, and the panel decides another."""
    first = [
        verdict(f"w{at}", decision="inconclusive", flagged=True, input="q", output=f"answer {at}")
        for at in range(9)
    ]
    passed = [verdict(f"x{at}", input="q", output=f"answer {at}") for at in range(9)]
    bodies = [*first, *passed, *run_of(rest)]
    cli("ingest", write("old.json", report(*bodies)))
    truths = {"x0": "unsure", "x1": "fail", "x2": "fail"}
    told = [
        {"id": body["id"], "truth": truths.get(body["id"], body["decision"])} for body in bodies[9:]
    ]
    path = asking_suite(cli, write, tmp_path, told)
    figures = cli("calibrate", "--json").json
    run = write("run.yml", (RUN.format("run") + asking(*FIGURES)).encode())
    itself = values(cli("gate", run, "--json", STRICT))
    assert figures["accuracy"] == pytest.approx(itself["accuracy"])
    assert figures["brier_low"] <= figures["brier"] <= figures["brier_high"]
    for more in ((), ("--report", write("new.json", report(*bodies)))):
        done = cli("gate", path, "--json", STRICT, *more)
        found = values(done)
        # A file does not say how many verdicts of each group were decided, which kappa needs.
        assert {**found, "kappa_low": None} == {
            key: pytest.approx(value) if value is not None and key != "kappa_low" else None
            for key, value in itself.items()
        }
        assert only_entry(done)["representative"] is True


def test_the_draw_of_the_suite_weighs_the_new_panel(cli: Cli, write: Write, tmp_path: Path) -> None:
    """10 flagged passes with 10 labels, 90 others with 30; the new panel fails all of the flagged.

    Every label says pass. The new panel is right on the 90, of which 30 labels stand for 3 each,
    and wrong on the 10: 90 of 100. Counted once each the labels would say 30 of 40.
    """
    bodies = [verdict(f"v{at:02}", flagged=at < 10) for at in range(100)]
    cli("ingest", write("old.json", report(*bodies)))
    rows = cli("queue", "--json").json
    asked = [row for row in rows if row["audit"] or row["stratum"] == "flagged/pass"]
    assert len(asked) == 40
    told = [{"id": row["id"], "truth": "pass"} for row in asked]
    path = asking_suite(cli, write, tmp_path, told)
    made = [judged(body, *FAILS) if at < 10 else body for at, body in enumerate(bodies)]
    done = cli("gate", path, "--report", write("new.json", report(*made)), "--json", STRICT)
    assert values(done)["accuracy"] == pytest.approx(0.9)
    assert only_entry(done)["representative"] is True


def test_contents_that_were_drawn_with_other_chances_weigh_what_the_rows_say(
    cli: Cli, write: Write, tmp_path: Path
) -> None:
    """20 passes in one stratum, ten of which weigh 3; the new panel fails those: 10 of 40 right."""
    suite = Suite(cli, write, tmp_path / "judge", [verdict(f"v{at:02}") for at in range(20)])
    path = suite.folder / "labels.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    heavy = [{**row, "weight": 3.0, "pi": 1 / 3} if row["id"] < "v10" else row for row in rows]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in heavy), encoding="utf-8")
    made = [judged(body, *FAILS) if body["id"] < "v10" else body for body in suite.bodies]
    assert values(suite.gate(made, "--json"))["accuracy"] == pytest.approx(0.25)


def test_labels_of_what_was_left_open_judge_a_panel(cli: Cli, write: Write, tmp_path: Path) -> None:
    # The old panel decided 30 and left 10 open; all have labels. The new one fails the 10, wrongly.
    open_ = ("inconclusive", "error") * 5
    bodies = run_of(30) + [verdict(f"w{at}", decision=one) for at, one in enumerate(open_)]
    cli("ingest", write("old.json", report(*bodies)))
    told = [
        {"id": body["id"], "truth": "fail" if body["decision"] == "fail" else "pass"}
        for body in bodies
    ]
    path = asking_suite(cli, write, tmp_path, told)
    made = bodies[:30] + [judged(body, *FAILS) for body in bodies[30:]]
    done = cli("gate", path, "--report", write("new.json", report(*made)), "--json")
    assert values(done)["accuracy"] == pytest.approx(0.75)
    assert values(done)["n"] == 40


def test_json_and_junit_tell_the_join(twenty: Suite, tmp_path: Path) -> None:
    xml = tmp_path / "out.xml"
    done = twenty.gate(changed("output", 3)(twenty.bodies)[:-1], "--json", "--junit", xml)
    found = only_entry(done)
    assert (done.code, found["status"]) == (3, "pass")
    assert found["join"] == {
        "labels": 20, "joined": 16, "changed": 3, "one_sided": 0, "missing": 1,
        "frame": 20, "held": 16, "extra": 3, "reworded": 0,
    }  # fmt: skip
    assert found["short"] == [
        "only 16 of 20 labels joined, 3 answer changed, 1 not in the report; 90% are needed"
    ]
    (case,) = xml_of(xml).iter("testcase")
    assert "not shown: only 16 of 20 labels joined" in (case[0].text or "")
    assert only_entry(twenty.cli("gate", twenty.folder / "suite.yml", "--json"))["join"] is None


def test_checks_that_are_all_skipped_show_nothing(twenty: Suite) -> None:
    # Everything should pass and does, so that kappa is undefined.
    made = [judged(body, 0.9) for body in twenty.bodies if body["decision"] == "pass"]
    rows = (twenty.folder / "labels.jsonl").read_text(encoding="utf-8").splitlines()
    kept = [row for row in rows if json.loads(row)["truth"] == "pass"]
    (twenty.folder / "labels.jsonl").write_text("\n".join(kept), encoding="utf-8")
    twenty.expect("kappa", "minimum: 0.5")
    done = twenty.gate(made)
    assert (done.code, "no check could be made" in done.err) == (3, True)


def test_jury_entries_check_the_report_in_place_of_their_own(twenty: Suite, write: Write) -> None:
    path = write(
        "jury.yml",
        b"""
jury:
  - name: own report
    report: gone.json
    expect: [{ target: jury.agreement, matcher: { schema: { minimum: 0.9 } } }]
  - name: own run
    run: gone
    case: v01
    expect: [{ target: jury.agreement, matcher: { schema: { minimum: 0.9 } } }]
""",
    )
    done = twenty.cli("gate", path, "--report", write("new.json", report(*twenty.bodies)))
    # s² = 0.01, r_WG = 1 - 12 * 0.01 = 0.88.
    assert done.code == 1
    assert "in place of gone.json" in done.out
    assert "in place of gone" in done.out
    calm = [judged(body, 0.9, 0.9, 0.9) for body in twenty.bodies]
    assert twenty.cli("gate", path, "--report", write("new.json", report(*calm))).code == 0
    lost = twenty.cli("gate", path, "--report", write("new.json", report(verdict("other"))))
    assert (lost.code, 'has the id or test "v01"' in lost.err) == (2, True)
    # A report without verdicts shows nothing of the panel, and is no reason to go on.
    path.write_bytes(path.read_bytes().partition(b"  - name: own run")[0])
    none = twenty.cli("gate", path, "--report", write("new.json", report()))
    assert (none.code, "no check could be made" in none.err) == (3, True)


@pytest.mark.parametrize(
    ("rows", "code", "told"),
    [
        ([{"confidence": 0.9, "correct": True}], 2, "names no verdict of a report. Export"),
        ([{"truth": "pass"}], 2, "names no content"),
        ([{"id": "v00", "truth": "perhaps"}], 2, "truth must be"),
        ([{"id": "v00", "truth": "unsure"}], 2, "has no label that counts"),
        ([{"item_hash": "x", "truth": "pass"}, {"item_hash": "x", "truth": "fail"}], 2,
         "truth is fail, but pass in line 1, for the same content"),
        # The label does not say which answer it is of.
        ([{"id": "v00", "truth": "pass"}], 2, "1 without an answer to compare"),
    ],
)  # fmt: skip
def test_labels_that_join_nothing(twenty: Suite, rows: Any, code: int, told: str) -> None:
    text = "calibration:\n  - name: n\n    labels: l.jsonl\n"
    (twenty.folder / "suite.yml").write_text(text, encoding="utf-8")
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    (twenty.folder / "l.jsonl").write_text(lines, encoding="utf-8")
    done = twenty.gate(twenty.bodies)
    assert (done.code, told in done.err) == (code, True), done.err


def test_labels_of_ids_alone_join_a_report_without_answers(twenty: Suite) -> None:
    text = "calibration:\n  - name: n\n    labels: l.jsonl\n    expect:\n"
    text += "      - { target: accuracy, matcher: { exact: 1 } }\n"
    (twenty.folder / "suite.yml").write_text(text, encoding="utf-8")
    lines = [json.dumps({"id": one["id"], "truth": one["decision"]}) for one in twenty.bodies]
    (twenty.folder / "l.jsonl").write_text("\n".join(lines), encoding="utf-8")
    done = twenty.gate(bare(20))
    assert (done.code, "20 of 20 labels joined" in done.out) == (0, True), done.err
    assert twenty.gate(bare(20), STRICT).code == 3


def test_a_run_has_a_draw_of_its_own_and_no_frame_of_other_labels(twenty: Suite) -> None:
    frame = twenty.folder / "frame.jsonl"
    lines = frame.read_text(encoding="utf-8").splitlines()
    frame.write_text("\n".join(lines[1:]), encoding="utf-8")
    done = twenty.gate(twenty.bodies)
    assert (done.code, "1 of 20 labels are of contents that are not in" in done.err) == (2, True)
    frame.write_text('{"item_hash": "x", "stratum": "other"}\n', encoding="utf-8")
    assert "stratum must be the name of a stratum" in twenty.gate(twenty.bodies).err
    frame.unlink()
    assert "frame.jsonl: there is no such file" in twenty.gate(twenty.bodies).err
    assert twenty.cli("gate", twenty.folder / "suite.yml").code == 2
    text = "calibration:\n  - name: n\n    run: run\n    frame: frame.jsonl\n"
    (twenty.folder / "suite.yml").write_text(text, encoding="utf-8")
    done = twenty.gate(twenty.bodies)
    assert (done.code, "has frame beside run" in done.err) == (2, True)
