"""Inspect logs made by hand: the shapes that the tool writes, as small as they can be."""

import json
import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import zstandard

from reviewdesk.reports import ReadOptions, Source, read
from reviewdesk.reports.canonical.rules import header_problem
from reviewdesk.reports.report import Report
from tests.helpers import verdict_problem

NAN = float("nan")
STORED, DEFLATE, ZSTD = 0, 8, 93


def sample(name: Any = "a", scores: Mapping[str, Any] | None = None, **keys: Any) -> Any:
    """A sample; of ``scores`` what is no object is the value of one."""
    wrapped = {
        key: value if isinstance(value, dict) and "value" in value else score(value)
        for key, value in (scores or {}).items()
    }
    said: dict[str, Any] = {
        "input": "asked",
        "target": "expected",
        "output": {"completion": "answered"},
    }
    return {"id": name, "epoch": 1, **said, "scores": wrapped, **keys}


def score(value: Any, **keys: Any) -> Any:
    return {"value": value, "history": [], **keys}


def panel(value: Any, *votes: Any, **keys: Any) -> Any:
    """The score of a panel; a vote that is a text in brackets is a failure with that reason."""
    failures = [
        {"index": at, "reason": "grader_failed", "explanation": vote[1:-1]}
        for at, vote in enumerate(votes)
        if isinstance(vote, str) and vote.startswith("[")
    ]
    failed = {failure["index"] for failure in failures}
    cast = [None if at in failed else vote for at, vote in enumerate(votes)]
    return score(value, metadata={"panel": {"votes": cast, "failures": failures}}, **keys)


def call(model: str, text: str, **keys: Any) -> Any:
    return {"event": "model", "model": model, "output": {"completion": text}, **keys}


def scoring(name: str, *calls: dict[str, Any], key: str | None = None) -> list[Any]:
    """The events of one scorer; ``key`` is its score where it has another name, "" for none."""
    span = f"span of {key or name}"
    begin = {"event": "span_begin", "id": span, "parent_id": "all", "type": "scorer", "name": name}
    given = [{"event": "score", "scorer": key or name, "span_id": span}] if key != "" else []
    return [begin, *({**one, "span_id": span} for one in calls), *given]


def log(*samples: Any, scorers: Iterable[Any] = (), **keys: Any) -> Any:
    """A log; of ``scorers`` a text is the name of one without options."""
    listed = [{"name": one, "options": {}} if isinstance(one, str) else one for one in scorers]
    spec: dict[str, Any] = {"task": "quiz", "eval_id": "e", "run_id": "r", "model": "maker/m"}
    spec |= {
        "scorers": listed,
        "created": "2026-01-02T03:04:05+00:00",
        "packages": {"inspect_ai": "0.3.285"},
    }
    spec |= keys.pop("spec", {})
    return {"version": 2, "status": "success", "eval": spec, **keys, "samples": list(samples)}


def grading(*models: str, name: str = "model_graded_qa") -> Any:
    """A scorer with models of its own."""
    return {"name": name, "options": {"model": [{"model": model} for model in models]}}


def opened(data: Any, **options: Any) -> Report:
    """Open a log and hold its header against the models."""
    text = data if isinstance(data, bytes) else json.dumps(data).encode()
    report = read(Source.from_bytes("run", text), ReadOptions(**options))
    assert report.format == "inspect"
    assert header_problem(report.header) is None
    return report


def notes_of(document: Any) -> list[str]:
    report = opened(document)
    list(report.verdicts())
    return report.notes


def bodies(data: Any, **options: Any) -> list[Any]:
    """The verdicts of a log, each of which is canonical."""
    found = list(opened(data, **options).verdicts())
    assert all(verdict_problem(body) is None for body in found)
    return found


def one(data: Any, **options: Any) -> Any:
    (body,) = bodies(data, **options)
    return body


def members(document: dict[str, Any]) -> dict[str, bytes]:
    """A log as the members of an archive."""
    header = {key: value for key, value in document.items() if key != "samples"}
    found = {
        f"samples/{each['id']}_epoch_{each['epoch']}.json": json.dumps(each).encode()
        for each in document["samples"]
    }
    start = json.dumps({"version": 2, "eval": document["eval"]}).encode()
    return {"_journal/start.json": start, **found, "header.json": json.dumps(header).encode()}


def packed(data: bytes, method: int, frames: int = 3) -> bytes:
    """The bytes of a member as an archive holds them; zstd in several frames, as Inspect does."""
    if method == STORED:
        return data
    if method == DEFLATE:
        squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
        return squeeze.compress(data) + squeeze.flush()
    size = len(data) // frames + 1
    pieces = [data[at : at + size] for at in range(0, len(data), size)] or [b""]
    return b"".join(map(zstandard.ZstdCompressor().compress, pieces))


def archive(
    files: Mapping[str, bytes] | list[tuple[str, bytes]],
    method: int = ZSTD,
    *,
    flags: int = 0,
    claim: int | None = None,
) -> bytes:
    """A zip archive, byte by byte; ``claim`` is what its directory says every member unpacks to."""
    listed = files.items() if isinstance(files, Mapping) else files
    body, directory, count = b"", b"", 0
    for name, data in listed:
        raw, named = packed(data, method), name.encode()
        size = len(data) if claim is None else claim
        facts = struct.pack("<HHHHHIII", 20, flags | 0x800, method, 0, 33, zlib.crc32(data),
                            len(raw), size)  # fmt: skip
        directory += b"PK\x01\x02" + struct.pack("<H", 20) + facts
        directory += struct.pack("<HHHHHII", len(named), 0, 0, 0, 0, 0, len(body)) + named
        body += b"PK\x03\x04" + facts + struct.pack("<HH", len(named), 0) + named + raw
        count += 1
    end = struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + end
