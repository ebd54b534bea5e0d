"""A second run of the same items, for tests that turn from one run to another."""

import json
from typing import Any

from reviewdesk.desk.core import Desk
from reviewdesk.domain.records import Run
from reviewdesk.reports.bytes.source import Source
from tests.app.builders import report, verdict


def second_run(desk: Desk, name: str = "again") -> Run:
    """The same items; the panel has one other juror, and decides two items otherwise."""
    bodies: list[dict[str, Any]] = [
        verdict(i, (0.1, 0.2, 0.3) if i < 3 else (0.9, 0.8, 0.3)) for i in range(1, 7)
    ]
    for body in bodies:
        body["jurors"][2]["id"] = "newcomer"
    body = {**report(bodies), "report_id": name}
    return desk.load(Source.from_bytes("again.json", json.dumps(body).encode())).run
