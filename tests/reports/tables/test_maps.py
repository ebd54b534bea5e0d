"""Maps: files that the tools wrote, each read by its map, and maps of a person's own."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.errors import ReportError, UsageError
from reviewdesk.reports import ReadOptions, Source, maps, propose, read
from reviewdesk.reports.tables.table import checked, packaged_map, toml_of
from tests.reports.tablekit import lines, refusal, scores, table, verdicts

FILES = Path(__file__).parent / "files"


def _said(juror: Any) -> Any:
    keys = ("status", "pass", "score", "raw_score")
    return next((juror[key] for key in keys if juror.get(key) is not None), None)


ANSWERS: dict[str, Any] = {
    # mlflow 3.17, genai.evaluate; its traces are left out
    "mlflow.jsonl": (
        "mlflow",
        [
            {"ann": True, "ben": True, "cat": True, "accuracy_judge": 10},
            {"ann": True, "ben": False, "cat": "error", "accuracy_judge": 4},
            {"ann": False, "ben": False, "cat": True, "accuracy_judge": 4},
        ],
    ),
    # opik 2.2, TestResult
    "opik.json": (
        "opik",
        [{"ann": 1.0, "ben": 1.0, "cat": 0.0}, {"ann": 1.0, "ben": 0.0, "cat": "error"}],
    ),
    # Label Studio, tasks with predictions
    "label-studio.json": (
        "label-studio",
        [{"gpt-4o": True, "claude": True, "gemini": False}, {"gpt-4o": False, "claude": True}],
    ),
    # pydantic-evals 2.62, EvaluationReportAdapter: each evaluator asks a question of its own
    "pydantic-evals.json": (
        "pydantic-evals",
        [
            {"Ann": True},
            {"Cat": True},
            {"Ben": 0.75},
            {"tone_label": True},
            {"Ann": False},
            {"Ben": 0.25},
            {"tone_label": True},
            {"Cat": "error"},
        ],
    ),
    # arize-phoenix-evals 3.9, evaluate_dataframe
    **dict.fromkeys(
        ("phoenix.csv", "phoenix.jsonl"),
        ("phoenix", [{"ann": True, "ben": 0.75}, {"ann": False, "ben": "error"}]),
    ),
    # ragas 0.4, EvaluationResult.to_pandas: each metric is a verdict
    **dict.fromkeys(
        ("ragas.csv", "ragas.jsonl"),
        (
            "ragas",
            [
                {"faithfulness": 1.0}, {"answer_relevancy": 0.8}, {"aspect_critic": 1},
                {"faithfulness": None}, {"answer_relevancy": 0.2}, {"aspect_critic": 0},
            ],
        ),
    ),
    # evaluatorq 1.82, evaluatorq(): one.model_dump(mode="json", by_alias=True) of each result
    "evaluatorq.json": (
        "evaluatorq",
        [{"ann": True, "ben": 0.75, "cat": "error"}, {"ann": False, "ben": 0.75, "cat": 0.2}],
    ),
    # trulens-core 2.16, get_records_and_feedback of a TruVirtual: each metric is a verdict, and
    # the first record was written before its metrics were there
    "trulens.csv": (
        "trulens",
        [{"Conciseness": None}, {"Politeness": None}, {"Conciseness": 0.9}, {"Politeness": 0.5}],
    ),
    # azure-ai-evaluation 1.18, evaluate() with three graders, one of which fails on the last row
    "azure-evaluation.json": (
        "azure-evaluation",
        [
            {grader: said}
            for votes in (
                (True, True, True), (True, True, False), (False, True, False), (True, None, False),
            )
            for grader, said in zip(("relevance", "groundedness", "f1"), votes, strict=True)
        ],
    ),
    # alpaca-eval 0.6, PairwiseAnnotator.annotate_head2head: 2 prefers output_2, the one on trial
    "alpaca-eval.json": ("alpaca-eval", [{"alpaca_eval_gpt4": one} for one in (1, 0, 1)]),
    # argilla 2.8, Record.to_dict
    "argilla.json": ("argilla", [{"gpt-4o": True}, {"gpt-4o": False}]),
    # argilla 2.8, HFDatasetsIO.to_datasets of two records with two questions
    "argilla-dataset.jsonl": (
        "argilla",
        [{"gpt-4o": one} for one in (False, 3, True, 4)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_files_of_tools(name: str) -> None:
    report, bodies = table((FILES / name).read_bytes())
    tool, answers = ANSWERS[name]
    assert (report.format, report.header["producer"]["name"]) == (tool, tool)
    assert [{one["id"]: _said(one) for one in body["jurors"]} for body in bodies] == answers
    assert all(body["input"] and body["output"] for body in bodies)


def test_what_else_the_maps_of_tools_read() -> None:
    first, second, _ = table((FILES / "mlflow.jsonl").read_bytes())[1]
    assert (first["reference"], first["output"]) == ("Right 1", "Answer 1")
    assert second["jurors"][2]["error"] == {"message": "429 from the judge"}
    assert table((FILES / "opik.json").read_bytes())[1][0]["meta"] == {"origin": {"trace": "t1"}}
    first, second = table((FILES / "label-studio.json").read_bytes())[1]
    person = {"label": "pass", "by": "rev@example.org", "at": "2026-01-02T10:00:00Z"}
    assert first["human"] == person
    assert second["human"] == {"label": "fail", "by": "rev@example.org"}
    check = {"name": "chk", "pass": True}
    assert table((FILES / "phoenix.jsonl").read_bytes())[1][0]["checks"] == [check]
    assert table((FILES / "argilla.json").read_bytes())[1][0]["human"]["label"] == "pass"
    person = {"label": "pass", "by": "6f1c2f0e-0000-4000-8000-000000000001"}
    assert table((FILES / "argilla-dataset.jsonl").read_bytes())[1][0]["human"] == person


def test_an_export_of_ids_alone_says_how_to_export_answers() -> None:
    task = json.loads((FILES / "label-studio.json").read_text())[0] | {"predictions": [286, 287]}
    told = refusal(json.dumps([task]))
    assert "holds only the ids of its predictions" in told
    assert told.endswith("have predictions with only_id false.")


def test_names_of_a_tools_scores_may_be_said_to_be_criteria_or_judges() -> None:
    found = verdicts((FILES / "opik.json").read_bytes(), criteria_columns=("cat",))
    assert [body["id"] for body in found] == ["d1", "d1 / cat", "d2", "d2 / cat"]
    assert [scores(body) for body in found[:2]] == [{"ann": 1.0, "ben": 1.0}, {"cat": 0.0}]
    both = verdicts((FILES / "ragas.jsonl").read_bytes(), judge_columns=("faithfulness",))
    assert [scores(body) for body in both] == [{"faithfulness": 1.0}, {}]


GRADES = [
    {"id": name, "results": [{"name": "One", "score": 1}, {"name": "Two", "score": 0}]}
    for name in ("a", "b")
]
LONG = "id,judge,score\na,one,1\na,two,0\nb,one,0\nb,two,0\n"


@pytest.mark.parametrize("text", [json.dumps(GRADES), LONG])
def test_names_inside_the_rows_are_said_as_columns_are(text: str) -> None:
    split = verdicts(text, criteria_columns=("one", "two"))
    asked = [body["case"].get("dimension", "").casefold() for body in split]
    assert [one for one in asked if one] == ["one", "two"] * 2
    assert [len(body["jurors"]) for body in verdicts(text, judge_columns=("one", "two"))] == [2, 2]
    found = verdicts(text, judge_columns=("two",))
    assert [[*scores(body).values()] for body in found] == [[0], [0]]
    told = refusal(text, judge_columns=("one", "three"))
    assert 'no column "three" and no judge of that name (its judges: ' in told
    assert 'no column "...why"' in refusal(text, reason_suffix="why")


@pytest.mark.parametrize("name", maps.packaged())
def test_packaged_maps_are_as_a_persons_must_be(name: str) -> None:
    made = checked(maps.packaged()[name])
    assert made == packaged_map(name)
    assert tomllib.loads(toml_of(made)) == maps.packaged()[name]


OWN = """
item = "key"
output = "said.text"
rows = "outcomes"
each = "panel"
judge = "who"
score = "points"
reason = "why"
words = { pass = ["top"], fail = ["flop"] }
scale = [0, 4]
"""


def test_a_map_of_a_persons_own(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    panel = [{"who": "a", "points": 3, "why": "w"}, {"who": "b", "points": "flop"}]
    rows = [{"key": "k1", "said": {"text": "t"}, "panel": panel}]
    (body,) = verdicts(json.dumps({"version": [], "outcomes": rows}), map=str(path))
    # 3 of 4
    assert body["jurors"] == [
        {"id": "a", "score": 0.75, "raw_score": 3, "scale": [0, 4], "reason": "w"},
        {"id": "b", "pass": False, "label": "flop"},
    ]
    assert (body["id"], body["output"]) == ("k1", "t")
    # A changed map makes another run.
    first = ReadOptions(map=str(path)).given()
    path.write_text(OWN + 'input = "q"\n')
    assert ReadOptions(map=str(path)).given() != first


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("item = ", "is not TOML"),
        ("itme = 'a'", "$.itme: is not a key"),
        ("score = 5", "$.score: must be a text"),
        ("[[ballots]]\nscroe = 'a'", "$.ballots[0].scroe: is not a key"),
        ("score = 'a'\nscale = [3, 3]", "$.scale: must be the worst and the best score"),
        ("score = 'a'\nscales = { tone = [1] }", "$.scales.tone: must be the worst and the best"),
    ],
)
def test_a_wrong_map_is_one_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        verdicts("item,judge,score\na,j,1\n", map=str(path))
    assert told in str(caught.value)
    with pytest.raises(UsageError, match="there is no map nothing"):
        verdicts("item,judge,score\na,j,1\n", map="nothing")


def test_a_proposed_map_reads_as_it_shows() -> None:
    rows = [{"id": n, "input": "q", "evals": [{"name": "gpt", "score": n}, {"name": "claude",
             "score": 1, "comment": "x"}]} for n in (0, 1)]  # fmt: skip
    source = Source.from_bytes("rows.jsonl", lines(*rows).encode())
    with pytest.raises(ReportError) as caught:
        read(source)
    assert str(caught.value).endswith("reviewdesk open rows.jsonl")
    made = propose(source)
    assert caught.value.details == made.text
    expected = [{"gpt": 0, "claude": 1}, {"gpt": 1, "claude": 1}]
    assert [scores(body) for body in made.verdicts] == expected
    assert tomllib.loads(made.text) == {
        "item": "id", "input": "input", "each": "evals", "judge": "name",
        "score": "score", "reason": "comment",
    }  # fmt: skip


NEMO = """
signature = ["nemo_key", "panel"]
item = "nemo_key"
each = "panel"
judge = "who"
score = "points"
"""


def test_a_map_is_known_by_its_signature(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REVIEWDESK_CONFIG", str(tmp_path / "config.toml"))
    folder = tmp_path / "maps"
    folder.mkdir()
    row = {"nemo_key": "k1", "panel": [{"who": "a", "points": 1}, {"who": "b", "points": 0}]}
    text = lines(row, row | {"nemo_key": "k2"})
    with pytest.raises(ReportError):
        read(Source.from_bytes("t", text.encode()))
    (folder / "nemo.toml").write_text(NEMO)
    (folder / "broken.toml").write_text("signature = [")
    report, bodies = table(text)
    assert [scores(body) for body in bodies] == [{"a": 1, "b": 0}] * 2
    # A changed map makes another run, so that the format names its text.
    before = report.format
    (folder / "nemo.toml").write_text(NEMO + 'rows = "all"\n')
    report, (body,) = table(json.dumps({"made": 1, "all": [row]}))
    assert (report.format[:9], body["id"]) == ("nemo, map", "k1")
    assert report.format != before
    (folder / "other.toml").write_text(NEMO)
    assert "has the columns of nemo and of other" in refusal(text)
    (folder / "nemo.toml").write_text(NEMO + 'jugde = "x"\n')
    (folder / "other.toml").unlink()
    with pytest.raises(UsageError, match=r"nemo: \$.jugde"):
        table(text)
