"""Invented reports of any size, and desks that hold them; made once and kept in a folder."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from statistics import variance
from typing import Any

from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import filters
from reviewdesk.reports.bytes.source import Source

MODELS = (
    ("gpt-4o", "openai"), ("claude-sonnet-4", "anthropic"), ("gemini-2.5-pro", "google"),
    ("deepseek-v3", "deepseek"), ("llama-3.3-70b", "meta"), ("mistral-large", "mistralai"),
    ("qwen3-max", "alibaba"),
)  # fmt: skip
THRESHOLD = 0.7
SENTENCES = 2_000
"""Distinct sentences, which the texts of all verdicts are made of."""
DISTINCT = 20_000
"""Verdicts that differ in all their texts; those after them differ in id and input alone."""
_NUMBER, _AT = "0000000", "2026-01-01T00:00:00+00:00"
_PANELS, _SHARES = (3, 4, 5, 6, 7), (15, 10, 60, 10, 5)
"""Sizes of panels, and how many of a hundred verdicts have them."""
_FOREIGN = ("für Grüße", "naïve", "— “quoted”", "中文", "日本語", "Ωμέγα", "🙂", "Привет")


def verdicts(count: int, seed: int = 1) -> Iterator[str]:
    """Yield verdicts as JSON, about 2.5 KB each; the jurors waver about a truth.

    Of a hundred, 60 state their agreement, 30 a trim, 25 a generator with the bias fields; 40 have
    no panel of five. Of a hundred ballots, two failed and two withhold their vote. One in five
    sentences is not ASCII. Nearly all verdicts agree with their own rule, as those of people do.
    """
    dice = random.Random(seed)
    letters = "etaoinshrdlu"
    words = ["".join(dice.choices(letters, k=dice.randint(2, 9))) for _ in range(3_000)]
    sentences = [" ".join(dice.choices(words, k=12)) for _ in range(SENTENCES)]
    for at in range(0, SENTENCES, 5):
        sentences[at] += f" {dice.choice(_FOREIGN)}"
    made = [_verdict(at, sentences, dice).split(_NUMBER) for at in range(min(count, DISTINCT))]
    for at in range(count):
        yield f"{at:07d}".join(made[at % DISTINCT])


def _verdict(at: int, sentences: list[str], dice: random.Random) -> str:
    """Return one verdict; ``_NUMBER`` stands in its id and its input for its place."""
    [size] = dice.choices(_PANELS, _SHARES)
    quality = dice.gauss(0.75, 0.2)
    jurors = [_ballot(*who, quality, sentences, dice) for who in MODELS[:size]]
    scores = [one["score"] for one in jurors if "score" in one]
    passes = sum(one.get("pass") is True for one in jurors)
    made: dict[str, Any] = {
        "id": f"case-{_NUMBER}",
        "case": {"test": f"rules-{at % 40}", "suite": f"suite-{at % 4}"},
        "decision": "pass" if 2 * passes >= size else "fail",
        "score": round(sum(scores) / len(scores), 4) if scores else 0.0,
        "input": f"{_NUMBER} {' '.join(dice.choices(sentences, k=5))}",
        "output": " ".join(dice.choices(sentences, k=8)),
        "rubric": "Answers the question and invents nothing.",
        "jurors": jurors,
    }
    if dice.random() < 0.02:
        made["decision"] = "inconclusive"
    if dice.random() < 0.6 and len(scores) > 1:
        agreed = 1 - 12 * variance(scores)
        band = "high" if agreed >= 0.8 else "medium" if agreed >= 0.667 else "low"
        made["agreement"] = {"value": agreed, "metric": "r_wg"}
        made |= {"band": band, "escalate_for_review": band == "low"}
    if dice.random() < 0.3 and len(scores) > 2:
        order = sorted(jurors, key=lambda one: one.get("score", 0.5))
        answered = [one["id"] for one in order if "score" in one]
        made["trim"] = {
            "method": "quantile", "fraction": 0.2, "rounding": "down", "per_side": 1,
            "dropped_low": answered[:1], "dropped_high": answered[-1:],
        }  # fmt: skip
    if dice.random() < 0.25:
        made["generator"] = {"model": dice.choice(("gpt-5", "house-model", "qwen3-next"))}
        made["same_family"] = made["generator"]["model"] == "gpt-5" or (
            made["generator"]["model"] == "qwen3-next" and size == len(MODELS)
        )
    return json.dumps(made, ensure_ascii=False)


def _ballot(
    model: str, vendor: str, quality: float, sentences: list[str], dice: random.Random
) -> dict[str, Any]:
    """Return one juror's ballot: in a hundred, two failed and two withhold their vote."""
    made: dict[str, Any] = {"id": model, "model": model, "vendor": vendor}
    kind = dice.random()
    if kind < 0.02:
        return made | {"status": "timeout", "error": {"message": "no answer after 60 s"}}
    score = round(min(1.0, max(0.0, dice.gauss(quality, 0.1))), 2)
    made |= {"score": score, "pass": None if kind < 0.04 else score >= THRESHOLD}
    return made | {"reason": " ".join(dice.choices(sentences, k=3))}


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
             "explanation": verdict["jurors"][0].get("reason", "")}  # fmt: skip
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
        {"pass": one["pass"] is not False, "score": one["score"], "reason": one["reason"],
         "assertion": {"type": "llm-rubric", "metric": one["id"], "value": verdict["rubric"],
                       "threshold": THRESHOLD, "provider": one["model"]}}
        for one in verdict["jurors"]
        if "score" in one
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
        filters.index(opened, opened.runs()[-1])
    return path
