"""The page for users of cross-judge, run whole: its live part asks over a transport of ours."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.live.records import Request, Response
from reviewdesk.live.wires import transport
from reviewdesk.reports.panels.panel_file import read_panel
from tests.docs.pages import DOCS, blocks
from tests.helpers import ROOT

PAGE = DOCS / "how-to" / "from-cross-judge.md"


SENT: list[str] = []


class Vendors:
    """Anthropic says "keep." and OpenAI "SPLIT"; each request is kept."""

    async def send(self, request: Request) -> Response:
        SENT.append(json.dumps(json.loads(request.body)))
        nonce = re.findall(r'nonce\\": \\"(\w+)', SENT[-1])[-1]
        word = "keep." if "anthropic" in request.url else "SPLIT"
        text = json.dumps({"reason": "r", "label": word, "confidence": 0.8, "nonce": nonce})
        answer = (
            {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
            if "anthropic" in request.url
            else {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
        )
        return Response(200, {"content-type": "application/json"}, json.dumps(answer).encode())

    async def close(self) -> None:
        """Hold nothing open."""


def test_the_whole_page_runs_and_its_panel_asks_for_labels(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(transport, "HttpTransport", Vendors)
    SENT.clear()
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "test-key")
    names: dict[str, Any] = {}
    for block in blocks(PAGE):
        if block.language == "python":
            exec(compile(block.text, str(PAGE), "exec"), names)  # noqa: S102 - our own page
    # One KEEP against one REJECT: the priority decides for REJECT. One KEEP is all of one.
    # Live, KEEP and SPLIT tie; of the two only KEEP has a priority, and half of the jurors say it.
    assert capsys.readouterr().out.splitlines() == ["REJECT True", "KEEP", "KEEP 0.5 pass"]
    schemas = "".join(SENT)
    assert schemas.count('"enum": ["KEEP", "REJECT", "SPLIT", null]') == 2
    assert '\\"KEEP\\" or \\"REJECT\\" or \\"SPLIT\\"' in schemas
    # The panel file of the page describes the same rule.
    (yaml,) = [one.text for one in blocks(PAGE) if one.language == "yaml"]
    file = tmp_path / "labels.yaml"
    file.write_text(yaml.replace("sample_runs", str(ROOT / "sample_runs")), encoding="utf-8")
    read, made = read_panel(file).rule, names["panel"].rule
    assert (read.strategy, read.labels, read.passing, read.failing) == (
        made.strategy, made.labels, made.passing, made.failing,
    )  # fmt: skip
