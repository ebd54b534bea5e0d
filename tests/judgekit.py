"""Cases, panels and jurors in this process, for the tests of many cases before a panel."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from reviewdesk.desk.live.judge import Order
from reviewdesk.domain.panel.asking import ConsentPlan, Listener
from reviewdesk.live.limits import World
from reviewdesk.live.records import Clock as LiveClock
from reviewdesk.live.records import Request, Response, Transport, calls_for
from reviewdesk.reports.panels.cases_file import open_cases, read_cases
from reviewdesk.reports.panels.panel_file import read_panel

_NONCE = re.compile(r'"nonce": "([^"]+)"')
_CASE = re.compile(r"question (\S+)\.")
URL = "http://127.0.0.1:1/v1"
JURORS = 5
TURNS = 20
"""Turns of the event loop that an answer takes, so that calls are open side by side."""


def cases(names: Iterable[str], **more: Any) -> bytes:
    """A case for each name; ``more`` are keys that all of them have."""
    rows = (
        {"id": name, "input": f"question {name}.", "output": f"answer {name}", **more}
        for name in names
    )
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def panel(url: str = URL, count: int = JURORS, *, juror: str = "", more: str = "") -> bytes:
    """A panel of jurors ``j0``, ``j1``, ... whose models are ``m0``, ``m1``, ..."""
    seats = "".join(
        f"  - {{name: j{seat}, model: m{seat}, vendor: custom, base_url: '{url}'{juror}}}\n"
        for seat in range(count)
    )
    head = "name: five\nrubric: is right\nthreshold: 0.7\nquorum: 0.5\nstrategy: median\n"
    return f"{head}{more}jurors:\n{seats}".encode()


def of_whom(body: dict[str, Any]) -> tuple[str, str]:
    """Which case and which juror's model a payload is about."""
    found = _CASE.search(body["messages"][1]["content"])
    assert found
    return found[1], body["model"]


def reply(
    body: dict[str, Any],
    *,
    tokens: tuple[int, int] = (100, 10),
    vote: bool | None = True,
    **said: Any,
) -> bytes:
    """An answer that follows the contract."""
    nonce = _NONCE.findall(body["messages"][-1]["content"])[-1]
    told = {"reason": "fits", "pass": vote, "score": 0.8, "confidence": 0.9, "nonce": nonce}
    content = json.dumps(told | said)
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
    return json.dumps({"choices": [choice], "usage": usage}).encode()


CUT = b'{"choices": [{"finish_reason": "length", "message": {"content": "{\\"reason\\": \\"So"}}]}'
"""A whole body whose reply hit its bound on tokens."""

Answer = Callable[[dict[str, Any]], Response]


def fine(body: dict[str, Any]) -> Response:
    """What a juror answers where nothing else is said."""
    return Response(200, {"content-type": "application/json"}, reply(body))


@dataclass
class Jurors:
    """A transport whose jurors answer in this process; ``asked`` counts by case and model."""

    answer: Answer = fine
    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    open: int = 0
    most: int = 0
    keys: set[str] = field(default_factory=set)

    async def send(self, request: Request) -> Response:
        body = json.loads(request.body)
        self.asked[of_whom(body)] += 1
        self.keys.add(request.headers.get("authorization", ""))
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            for _ in range(TURNS):
                await asyncio.sleep(0)
            return self.answer(body)
        finally:
            self.open -= 1

    async def close(self) -> None:
        """Nothing is held."""


def saying(word: Callable[[str, str], Any]) -> Jurors:
    """Jurors that answer a case by a word, in the form that such a panel asks for."""

    def answer(body: dict[str, Any]) -> Response:
        assert '"label": ' in body["messages"][-1]["content"]
        said = json.loads(reply(body))["choices"][0]["message"]["content"]
        told = {"reason": "r", "label": word(*of_whom(body)), "confidence": 0.9}
        content = json.dumps({**told, "nonce": json.loads(said)["nonce"]})
        choice = {"message": {"content": content}, "finish_reason": "stop"}
        return Response(200, {}, json.dumps({"choices": [choice]}).encode())

    return Jurors(answer)


@dataclass
class Clock(LiveClock):
    """Time that passes only by waiting, and a second at each look at the calendar."""

    time: datetime = datetime(2025, 1, 31, 12, tzinfo=UTC)
    ran: float = 0.0

    def now(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time

    def monotonic(self) -> float:
        return self.ran

    async def sleep(self, seconds: float) -> None:
        self.ran += seconds
        await asyncio.sleep(0)

    def random(self) -> float:
        return 0.5


def world(
    transport: Transport, environment: dict[str, str] | None = None, clock: LiveClock | None = None
) -> World:
    """The surroundings of a run: these jurors, no key, a clock of its own."""
    return World(environment or {}, clock or Clock(), lambda: transport)


def silent() -> Jurors:
    """Jurors of whom none may be asked."""

    def answer(body: dict[str, Any]) -> Response:
        raise AssertionError(f"{of_whom(body)} was asked")

    return Jurors(answer)


@dataclass
class Consent:
    """A person who looks at the plan and says yes, or no."""

    agrees: bool = True
    plans: list[ConsentPlan] = field(default_factory=list)

    def __call__(self, plan: ConsentPlan) -> bool:
        self.plans.append(plan)
        return self.agrees


YES = Listener(agreed=lambda _: True)


@dataclass(frozen=True)
class Room:
    """A folder with cases and a panel, and where the report goes."""

    folder: Path

    @property
    def report(self) -> Path:
        return self.folder / "report.jsonl"

    @property
    def replies(self) -> Path:
        return self.folder / "report.jsonl.replies.db"

    def put(self, names: Sequence[str] = ("c0", "c1", "c2"), url: str = URL, **how: Any) -> Room:
        """Write both files; ``juror`` and ``more`` are the panel's, the rest the cases'."""
        said = {key: how.pop(key) for key in ("juror", "more", "count") if key in how}
        (self.folder / "cases.jsonl").write_bytes(cases(names, **how))
        (self.folder / "panel.yaml").write_bytes(panel(url, **said))
        return self

    def order(self, **how: Any) -> Order:
        folder = self.folder
        names = {name: str(folder / name) for name in ("cases.jsonl", "panel.yaml")}
        return Order(
            cases=names["cases.jsonl"], panel=names["panel.yaml"], report=str(self.report), **how
        )

    def judge(self, *more: str) -> list[str]:
        """The command line that judges the cases."""
        order = self.order()
        return ["judge", order.cases, "--panel", order.panel, "-o", order.report, *more]

    def verdicts(self, report: str = "report.jsonl") -> list[Any]:
        lines = (self.folder / report).read_bytes().splitlines()
        return [json.loads(line) for line in lines[1:]]

    def header(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.report.read_bytes().splitlines()[0])
        return found

    def stored(self) -> list[dict[str, Any]]:
        """The exchanges on disk."""
        with closing(sqlite3.connect(self.replies)) as conn:
            conn.row_factory = sqlite3.Row
            return [dict(row) for row in conn.execute("SELECT * FROM replies ORDER BY key")]

    def answered(self) -> set[tuple[str, str]]:
        """The case and the model of each exchange on disk."""
        panel = read_panel(self.folder / "panel.yaml")
        source = open_cases(str(self.folder / "cases.jsonl"))
        every = (call for case in read_cases(source) for call in calls_for(case, panel))
        about = {call.key: (call.case, call.juror.model) for call in every}
        return {about[line["call"]] for line in self.stored()}

    def commitments(self) -> list[dict[str, Any]]:
        """What the journal was begun and gone on with."""
        with closing(sqlite3.connect(self.replies)) as conn:
            rows = conn.execute("SELECT detail FROM label_events WHERE kind = 'rerun_planned'")
            return [json.loads(detail) for (detail,) in rows]


PRICE = ", price: {input: 1000, output: 1000}"
"""A tenth of a cent a token, so that calls cost cents."""
