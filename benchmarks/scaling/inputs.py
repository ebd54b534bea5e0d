"""Invented reports of any size, and desks that hold them; made once and kept in a folder."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from reviewdesk.desk import Desk
from reviewdesk.desk.review import search
from reviewdesk.reports.bytes.source import Source

MODELS = (
    ("gpt-4o", "openai"), ("claude-sonnet-4", "anthropic"), ("gemini-2.5-pro", "google"),
    ("deepseek-v3", "deepseek"), ("llama-3.3-70b", "meta"),
)  # fmt: skip
THRESHOLD = 0.7
SENTENCES = 2_000
"""Distinct sentences, which the texts of all verdicts are made of."""
DISTINCT = 20_000
"""Verdicts that differ in all their texts; those after them differ in id and input alone."""
_NUMBER, _AT = "0000000", "2026-01-01T00:00:00+00:00"


def verdicts(count: int, seed: int = 1) -> Iterator[str]:
    """Yield verdicts of five jurors as JSON, about 2.5 KB each; the jurors waver about a truth."""
    dice = random.Random(seed)
    letters = "etaoinshrdlu"
    words = ["".join(dice.choices(letters, k=dice.randint(2, 9))) for _ in range(3_000)]
    sentences = [" ".join(dice.choices(words, k=12)) for _ in range(SENTENCES)]
    made = [_verdict(at, sentences, dice).split(_NUMBER) for at in range(min(count, DISTINCT))]
    for at in range(count):
        yield f"{at:07d}".join(made[at % DISTINCT])


def _verdict(at: int, sentences: list[str], dice: random.Random) -> str:
    """Return one verdict; ``_NUMBER`` stands in its id and its input for its place."""
    quality = dice.gauss(0.75, 0.2)
    scores = [round(min(1.0, max(0.0, dice.gauss(quality, 0.1))), 2) for _ in MODELS]
    jurors = [
        {
            "id": model, "model": model, "vendor": vendor, "score": score,
            "pass": score >= THRESHOLD, "reason": " ".join(dice.choices(sentences, k=3)),
        }
        for (model, vendor), score in zip(MODELS, scores, strict=True)
    ]  # fmt: skip
    passes = sum(score >= THRESHOLD for score in scores)
    return json.dumps(
        {
            "id": f"case-{_NUMBER}",
            "case": {"test": f"rules-{at % 40}", "suite": f"suite-{at % 4}"},
            "decision": "pass" if passes >= 3 else "fail",
            "score": round(sum(scores) / len(scores), 4),
            "input": f"{_NUMBER} {' '.join(dice.choices(sentences, k=5))}",
            "output": " ".join(dice.choices(sentences, k=8)),
            "rubric": "Answers the question and invents nothing.",
            "jurors": jurors,
        }
    )


def lines(folder: Path, count: int) -> Path:
    """Return so many verdicts as JSON Lines, written if they are not there yet."""
    path = folder / f"verdicts-{count}.jsonl"
    if not path.exists():
        part = path.with_suffix(".part")
        with part.open("w", encoding="utf-8") as file:
            file.writelines(f"{verdict}\n" for verdict in verdicts(count))
        part.replace(path)
    return path


def inspect_log(folder: Path, count: int) -> Path:
    """Return an Inspect log with so many samples, each with one score, written if it is not there.

    Its texts are those of the verdicts.
    """
    head = {"created": _AT, "task": "scale", "dataset": {}, "model": "gpt-4o", "config": {}}
    start = f'{{"version":2,"status":"success","eval":{json.dumps(head)},"samples":['
    return _written(folder / f"inspect-{count}.json", start, map(_sample, verdicts(count)), "]}")


def _sample(text: str) -> str:
    verdict = json.loads(text)
    answer = {"role": "assistant", "content": verdict["output"]}
    score = {"value": "C" if verdict["decision"] == "pass" else "I",
             "explanation": verdict["jurors"][0]["reason"]}  # fmt: skip
    return json.dumps({
        "id": verdict["id"], "epoch": 1, "input": verdict["input"], "target": "",
        "messages": [answer], "scores": {"model_graded_qa": score},
        "output": {"model": "gpt-4o", "choices": [{"message": answer}]},
    })  # fmt: skip


def promptfoo_export(folder: Path, count: int) -> Path:
    """Return a promptfoo export with so many results of five graders, likewise."""
    prompt = {"id": "p", "raw": "{{question}}", "label": "{{question}}", "provider": "gpt-4o"}
    start = (
        f'{{"evalId":"eval-scale-{count}","config":{{}},"shareableUrl":null,"results":{{'
        f'"version":3,"timestamp":"{_AT}","prompts":[{json.dumps(prompt)}],'
        '"stats":{"successes":0,"failures":0,"errors":0,"tokenUsage":{}},"results":['
    )
    rows = (_result(at, text) for at, text in enumerate(verdicts(count)))
    return _written(folder / f"promptfoo-{count}.json", start, rows, "]}}")


def _result(at: int, text: str) -> str:
    verdict = json.loads(text)
    passed = verdict["decision"] == "pass"
    parts = [
        {"pass": one["pass"], "score": one["score"], "reason": one["reason"],
         "assertion": {"type": "llm-rubric", "metric": one["id"], "value": verdict["rubric"],
                       "threshold": THRESHOLD, "provider": one["model"]}}
        for one in verdict["jurors"]
    ]  # fmt: skip
    graded = {"pass": passed, "score": verdict["score"], "reason": "", "componentResults": parts}
    variables = {"question": verdict["input"]}
    return json.dumps({
        "id": verdict["id"], "testIdx": at, "promptIdx": 0, "promptId": "p", "success": passed,
        "score": verdict["score"], "latencyMs": 1, "cost": 0, "namedScores": {}, "failureReason": 0,
        "provider": {"id": "gpt-4o"}, "response": {"output": verdict["output"]},
        "prompt": {"raw": verdict["input"], "label": "{{question}}"}, "vars": variables,
        "testCase": {"description": verdict["id"], "vars": variables}, "gradingResult": graded,
    })  # fmt: skip


def _written(path: Path, start: str, rows: Iterable[str], end: str) -> Path:
    """Return a file of rows between a start and an end, written if it is not there yet."""
    if not path.exists():
        part = path.with_suffix(".part")
        with part.open("w", encoding="utf-8") as file:
            file.write(start)
            file.writelines(("," if at else "") + "\n" + row for at, row in enumerate(rows))
            file.write(f"\n{end}\n")
        part.replace(path)
    return path


def report(folder: Path, count: int) -> Path:
    """Return a canonical report with so many verdicts, written if it is not there yet."""
    start = (
        '{"schema":"reviewdesk.report/1","report_id":"scale",'
        f'"defaults":{{"threshold":{THRESHOLD},"quorum":0.5}},"verdicts":['
    )
    return _written(folder / f"report-{count}.json", start, verdicts(count), "]}")


def desk(folder: Path, count: int) -> Path:
    """Return a desk with one run of so many verdicts and its search index, made if not there.

    The app makes the index in the background after the first opening, and shows how far it is.
    """
    path = folder / f"desk-{count}.db"
    if not path.exists():
        part = folder / f"loading-{count}.db"
        part.unlink(missing_ok=True)
        with closing(Desk.open(part, reviewer="ann")) as opened:
            opened.load(Source.from_path(report(folder, count), max_size=1 << 40))
        part.replace(path)
    with closing(Desk.open(path, reviewer="ann")) as opened:
        search.index(opened, opened.runs()[-1])
    return path
