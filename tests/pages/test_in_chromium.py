"""The page of the hostile sample in a real browser: no script, no request, nothing added."""

import json
import re
import shutil
import subprocess
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from reviewdesk.desk.export.report import html
from reviewdesk.domain.records import Truth
from reviewdesk.reports import Source
from tests.helpers import SAMPLES, open_desk
from tests.pages.pagekit import Page, faults

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--disable-default-apps", "--host-resolver-rules=MAP * ~NOTFOUND",
    "--enable-logging=stderr",
)  # fmt: skip


pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed here")


@dataclass(frozen=True)
class Shown:
    """What a browser made of a page, what it complained of, and what the page asked for."""

    dom: str
    said: str
    requests: set[str]


def shown(folder: Path, source: str) -> Shown:
    file, log = folder / "page.html", folder / "net.json"
    file.write_text(source, encoding="utf-8")
    done = subprocess.run(
        [
            str(CHROMIUM), *QUIET, f"--user-data-dir={folder / 'profile'}",
            f"--log-net-log={log}", "--dump-dom", file.as_uri(),
        ],
        capture_output=True, check=True, timeout=120,
    )  # fmt: skip
    events = json.loads(log.read_text(encoding="utf-8"))["events"]
    told = [event["params"] for event in events if "initiator" in event.get("params", {})]
    # What the browser asks for of its own accord has no origin.
    asked = {one["url"] for one in told if one["initiator"] != "not an origin"}
    return Shown(done.stdout.decode(), done.stderr.decode(errors="replace"), asked)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hostile.json", "support-bot.jsonl", "library-desk.jsonl"])
def test_a_browser_shows_the_page_and_does_nothing_else(tmp_path: Path, name: str) -> None:
    with closing(open_desk(tmp_path / "desk.db")) as desk:
        run = desk.load(Source.from_path(SAMPLES / name)).run
        for key in desk.queue(run):
            desk.label(key, Truth.PASS)
        source = "".join(html(desk, run))
    found = shown(tmp_path, source)
    assert "CONSOLE" not in found.said
    assert "<svg" in found.dom
    assert found.requests == set()
    # What the browser made of it has the elements of the file, and no other.
    assert elements(found.dom) == elements(source)
    assert faults(Page(source)) == []


def elements(source: str) -> list[str]:
    """The names of all elements, the style's text left out."""
    bare = re.sub("<style>.*?</style>", "", source, flags=re.DOTALL)
    return sorted(re.findall(r"<([a-z][a-z0-9]*)[\s>/]", bare))


@pytest.mark.slow
def test_the_measure_sees_a_request_and_a_script_error(tmp_path: Path) -> None:
    bad = shown(tmp_path, "<img src='http://a.invalid/x.png'><script>throw new Error('x')</script>")
    assert bad.requests == {"http://a.invalid/x.png"}
    assert "CONSOLE" in bad.said
