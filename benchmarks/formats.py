"""CPU of reading each foreign format, against a plain program in the same process.

The plain program reads the file with ``csv.DictReader`` or ``json.load`` and writes its raw rows to
SQLite with ``executemany``. ``read`` makes the canonical verdicts, ``load`` stores them on a desk.
Run it as ``python benchmarks/formats.py [FORMAT ...] [--items 4000] [--profile]``.
"""

from __future__ import annotations

import argparse
import cProfile
import csv
import gc
import json
import pstats
import random
import sqlite3
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

from reviewdesk.desk.core import Desk
from reviewdesk.reports import read
from reviewdesk.reports.bytes.source import Source

JUDGES = ("judge-a", "judge-b", "judge-c", "judge-d", "judge-e")
_DICE = random.Random(7)
_WORDS = ["".join(_DICE.choices("etaoinshrdlu", k=_DICE.randint(2, 9))) for _ in range(3000)]


def _text(words: int) -> str:
    return " ".join(_DICE.choices(_WORDS, k=words))


def _items(count: int) -> Iterator[tuple[str, str, str, list[float]]]:
    for at in range(count):
        quality = _DICE.gauss(0.7, 0.2)
        scores = [round(min(1.0, max(0.0, _DICE.gauss(quality, 0.1))), 2) for _ in JUDGES]
        yield f"case-{at:06d}", _text(12), _text(40), scores


def _long_csv(path: Path, count: int) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        write = csv.writer(file).writerow
        write(["item", "judge", "score", "reason", "output"])
        for name, _, output, scores in _items(count):
            for judge, score in zip(JUDGES, scores, strict=True):
                write([name, judge, score, _text(10), output])


def _wide_csv(path: Path, count: int) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        write = csv.writer(file).writerow
        write(["item", "input", "output", *JUDGES])
        for name, asked, output, scores in _items(count):
            write([name, asked, output, *scores])


def _jsonl(path: Path, count: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        for name, asked, output, scores in _items(count):
            for judge, score in zip(JUDGES, scores, strict=True):
                row = {"item": name, "judge": judge, "score": score, "reason": _text(10)}
                file.write(json.dumps(row | {"input": asked, "output": output}) + "\n")


def _promptfoo(path: Path, count: int) -> None:
    prompt = {"id": "p", "raw": "{{question}}", "label": "{{question}}", "provider": "model-x"}
    results = []
    for at, (name, asked, output, scores) in enumerate(_items(count)):
        passed = sum(scores) / len(scores) >= 0.7
        parts = [
            {"pass": score >= 0.7, "score": score, "reason": _text(10),
             "assertion": {"type": "llm-rubric", "metric": judge, "value": "Is it right?",
                           "threshold": 0.7, "provider": f"openai:{judge}"}}
            for judge, score in zip(JUDGES, scores, strict=True)
        ]  # fmt: skip
        graded = {"pass": passed, "score": scores[0], "reason": "", "componentResults": parts}
        results.append({
            "id": name, "testIdx": at, "promptIdx": 0, "promptId": "p", "success": passed,
            "score": scores[0], "latencyMs": 1, "cost": 0, "namedScores": {}, "failureReason": 0,
            "provider": {"id": "model-x"}, "response": {"output": output},
            "prompt": {"raw": asked, "label": "{{question}}"}, "vars": {"question": asked},
            "testCase": {"description": name, "vars": {"question": asked}}, "gradingResult": graded,
        })  # fmt: skip
    stats = {"successes": 0, "failures": 0, "errors": 0, "tokenUsage": {}}
    body = {"version": 3, "timestamp": "2026-01-01T00:00:00Z", "prompts": [prompt],
            "stats": stats, "results": results}  # fmt: skip
    document = {"evalId": "eval-1", "config": {}, "shareableUrl": None, "results": body}
    path.write_text(json.dumps(document), encoding="utf-8")


def _inspect(path: Path, count: int) -> None:
    samples = []
    for name, asked, output, scores in _items(count):
        answer = {"role": "assistant", "content": output}
        given = {judge: {"value": score, "explanation": _text(10)}
                 for judge, score in zip(JUDGES, scores, strict=True)}  # fmt: skip
        samples.append({
            "id": name, "epoch": 1, "input": asked, "target": "", "messages": [answer],
            "scores": given,
            "output": {"model": "model-x", "choices": [{"message": answer}]},
        })  # fmt: skip
    head = {"created": "2026-01-01T00:00:00+00:00", "task": "t", "dataset": {}, "model": "model-x",
            "config": {}}  # fmt: skip
    document = {"version": 2, "status": "success", "eval": head, "samples": samples}
    path.write_text(json.dumps(document), encoding="utf-8")


def _deepeval(path: Path, count: int) -> None:
    cases = []
    for name, asked, output, scores in _items(count):
        metrics = [
            {"name": f"Correctness ({judge}) [GEval]", "threshold": 0.7, "success": score >= 0.7,
             "score": score, "reason": _text(10), "strictMode": False, "evaluationModel": judge,
             "evaluationCost": 0.001}
            for judge, score in zip(JUDGES, scores, strict=True)
        ]  # fmt: skip
        cases.append({
            "name": name, "input": asked, "actualOutput": output, "success": True,
            "metricsData": metrics, "runDuration": 1.0, "order": 1,
        })  # fmt: skip
    document = {"testCases": cases, "conversationalTestCases": [], "metricsScores": []}
    path.write_text(json.dumps(document), encoding="utf-8")


def _mcptest(path: Path, count: int) -> None:
    results = []
    for name, asked, output, scores in _items(count):
        jurors = [{"model": judge, "score": score, "passed": score >= 0.7, "reasoning": _text(10)}
                  for judge, score in zip(JUDGES, scores, strict=True)]  # fmt: skip
        results.append({
            "name": name, "prompt": asked, "response": output, "passed": scores[0] >= 0.7,
            "score": scores[0], "judges": jurors,
        })  # fmt: skip
    path.write_text(json.dumps({"results": results}), encoding="utf-8")


def _plain_csv(path: Path) -> Iterator[tuple[Any, ...]]:
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            yield tuple(row.values())


def _plain_lines(path: Path) -> Iterator[tuple[Any, ...]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield tuple(json.loads(line).values())


def _plain_json(path: Path) -> Iterator[tuple[Any, ...]]:
    with path.open(encoding="utf-8") as file:
        document = json.load(file)
    document = document.get("results", document)
    listed = next(
        one for one in ([document] if isinstance(document, list) else document.values())
        if isinstance(one, list) and len(one) > 1
    )  # fmt: skip
    for row in listed:
        yield (json.dumps(row),)


Rows = Callable[[Path], Iterator[tuple[Any, ...]]]
FORMATS: dict[str, tuple[str, Callable[[Path, int], None], Rows]] = {
    "long": ("csv", _long_csv, _plain_csv),
    "wide": ("csv", _wide_csv, _plain_csv),
    "lines": ("jsonl", _jsonl, _plain_lines),
    "promptfoo": ("json", _promptfoo, _plain_json),
    "inspect": ("json", _inspect, _plain_json),
    "deepeval": ("json", _deepeval, _plain_json),
    "mcptest": ("json", _mcptest, _plain_json),
}
"""The suffix of each format, the function that invents a file, and its plain reading."""


def plain(path: Path, rows: Rows, desk: Path) -> None:
    """Write the raw rows of a file to a new database."""
    found = rows(path)
    first = next(found)
    conn = sqlite3.connect(desk)
    conn.execute("PRAGMA journal_mode = WAL")
    conn.execute(f"CREATE TABLE rows ({', '.join(f'c{at}' for at in range(len(first)))})")
    insert = f"INSERT INTO rows VALUES ({', '.join('?' * len(first))})"
    conn.execute(insert, first)
    conn.executemany(insert, found)
    conn.commit()
    conn.close()


def verdicts(path: Path) -> None:
    """Read every verdict of a file and keep none."""
    deque(read(Source.from_path(path), streamed=True).written(), maxlen=0)


def load(path: Path, desk: Path) -> None:
    """Load a file into a new desk."""
    opened = Desk.open(desk, reviewer="ann")
    opened.load(Source.from_path(path))
    opened.close()


def seconds(work: Callable[[], None]) -> float:
    """Return the CPU seconds that some work takes; cycles are not collected, as in a load."""
    gc.collect()
    gc.disable()
    start = process_time()
    work()
    took = process_time() - start
    gc.enable()
    return took


def measured(path: Path, rows: Rows, desk: Path) -> tuple[float, float, float]:
    """Return the CPU seconds of the plain program, of reading and of loading a file."""
    return (
        seconds(lambda: plain(path, rows, desk.with_suffix(".plain"))),
        seconds(lambda: verdicts(path)),
        seconds(lambda: load(path, desk.with_suffix(".db"))),
    )


def main() -> None:
    """Print a line for each format."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("formats", nargs="*", metavar="FORMAT", default=[*FORMATS])
    parser.add_argument("--items", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--profile", action="store_true", help="print where reading takes long")
    given = parser.parse_args()
    print(f"{'format':<10} {'MB':>5} {'plain s':>8} {'read':>6} {'load':>6}")
    for name in given.formats:
        suffix, write, rows = FORMATS[name]
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            path = folder / f"{name}.{suffix}"
            write(path, given.items)
            if given.profile:
                profile = cProfile.Profile()
                profile.runcall(verdicts, path)
                pstats.Stats(profile).sort_stats("tottime").print_stats(35)
                continue
            took = [measured(path, rows, folder / str(at)) for at in range(given.rounds)]
            base, reading, loading = (min(one[at] for one in took) for at in range(3))
            size = path.stat().st_size / 1e6
            print(
                f"{name:<10} {size:>5.1f} {base:>8.3f}"
                f" {reading / base:>5.1f}x {loading / base:>5.1f}x"
            )


if __name__ == "__main__":
    main()
