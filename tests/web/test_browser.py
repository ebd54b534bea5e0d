"""The console in a real browser, as a reviewer meets it."""

import http.server
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from reviewdesk.desk.core import Desk
from reviewdesk.desk.loading import LoadOptions
from reviewdesk.desk.setup import load_samples
from reviewdesk.domain.records import Truth
from reviewdesk.reports import Source
from tests.helpers import POSIX, SAMPLES, events_of
from tests.web.browserkit import (
    DESKTOP,
    PATIENCE,
    PHONE,
    TABLET,
    Line,
    Tab,
    addresses_asked,
    browsing,
    consoles_of,
    free_port,
    log_of,
    serving,
    token_of,
)

pytestmark = [pytest.mark.slow, POSIX]
RUN = "support-bot"


@pytest.fixture(scope="module")
def open_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with browsing(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def browser(open_browser: webdriver.Chrome) -> webdriver.Chrome:
    """The browser, with a new tab and no cookies."""
    open_browser.switch_to.new_window("tab")
    front = open_browser.current_window_handle
    for handle in open_browser.window_handles:
        if handle != front:
            open_browser.switch_to.window(handle)
            open_browser.close()
    open_browser.switch_to.window(front)
    open_browser.delete_all_cookies()
    return open_browser


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A desk with the sample runs, and the hostile one."""
    path = tmp_path_factory.mktemp("prepared") / "desk.db"
    with closing(Desk.open(path, reviewer="ann")) as desk:
        load_samples(desk)
        desk.load(Source.from_path(SAMPLES / "hostile.json"), LoadOptions())
    return path


@pytest.fixture
def path(prepared: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(prepared, tmp_path / "desk.db"))


def labels(path: Path, reviewer: str) -> list[Truth]:
    """The labels that a reviewer has given in the run, the oldest first."""
    with closing(Desk.open(path, reviewer=reviewer)) as desk:
        events = reversed(events_of(desk, desk.run(RUN)))
        return [event.label for event in events if event.label is not None]


def test_labels_by_key_and_mouse_move_calibration(browser: webdriver.Chrome, path: Path) -> None:
    with serving(path, "--run", RUN) as (link, _):
        tab = Tab(browser, link)
        assert "0 of " in tab.enter_as("bea")
        assert token_of(link) not in browser.current_url
        first = strip(labelled(tab, 1, lambda: tab.press("p")))
        assert first != strip(labelled(tab, 2, lambda: tab.click("f fail")))
        assert "saved" in tab.text
        assert labels(path, "bea") == [Truth.PASS, Truth.FAIL]
        tab.press(Keys.F4)
        tab.wait_for("2 of 30 verdicts labelled")
        tab.press("q")
        tab.wait_for_end()


def labelled(tab: Tab, count: int, give: Callable[[], None]) -> str:
    """Give a label, twice where the first try shows the rest of the response; return the screen."""
    said = f"{count} label{'s' * (count > 1)} · figures after"
    give()
    if said not in tab.wait(lambda text: said in text or "seen enough" in text):
        give()
    return tab.wait_for(said)


def strip(text: str) -> list[str]:
    """The lines of the screen that say how far the judge can be trusted."""
    return [line for line in text.splitlines() if "figures after" in line]


def test_two_tabs_are_two_reviewers_of_one_desk(browser: webdriver.Chrome, path: Path) -> None:
    with serving(path, "--run", RUN) as (link, server):
        one = Tab(browser, link)
        one.enter_as("bea")
        browser.switch_to.new_window("tab")
        two = Tab(browser, link)
        two.enter_as("cy")
        assert len(consoles_of(server)) == 2
        assert item_in_view(one) != item_in_view(two)  # each skips what the other has open
        labelled(one, 1, lambda: one.press("p"))
        labelled(two, 2, lambda: two.press("f"))
        assert (labels(path, "bea"), labels(path, "cy")) == ([Truth.PASS], [Truth.FAIL])
        browser.close()
        browser.switch_to.window(one.handle)
        one.press(Keys.F4)
        one.wait_for("2 of 30 verdicts labelled")


def test_a_cut_connection_loses_no_label(browser: webdriver.Chrome, path: Path) -> None:
    port = free_port()
    with closing(Line(port)) as line:
        public = f"http://127.0.0.1:{line.port}"
        with serving(path, "--run", RUN, "--public-url", public, port=port) as (link, server):
            assert link.startswith(public)
            tab = Tab(browser, link)
            tab.enter_as("bea")
            tab.press("p")
            tab.wait_for("1 label · figures after")
            second = item_in_view(tab)
            tab.press("f")
            line.cut()
            tab.wait_for_end()
            assert "saved is saved" in tab.find("#ended").text
            WebDriverWait(browser, PATIENCE).until(lambda _: not consoles_of(server))
            tab.open_again()
            tab.enter_as("bea")
            given = labels(path, "bea")
            assert tab.wait_for(f"{len(given)} label")
            assert given in ([Truth.PASS], [Truth.PASS, Truth.FAIL])
            assert (item_in_view(tab) == second) is (len(given) == 1)


def item_in_view(tab: Tab) -> str:
    """The line of the queue that is chosen."""
    return next(line for line in tab.screen if line.startswith("▸"))[:40]


def test_a_run_is_shared_for_reading(browser: webdriver.Chrome, path: Path) -> None:
    with closing(Desk.open(path, reviewer="ann")) as desk:
        before, first = desk.head(), desk.queue(desk.run(RUN))[0]
    with serving(path, "--read-only", RUN) as (link, _):
        tab = Tab(browser, link)
        tab.wait_for("read-only")
        tab.press("p")
        tab.wait_for("cannot be saved")
        tab.press(Keys.F5)
        runs = tab.wait_for("Runs")
        assert RUN in runs
        assert "library-desk" not in runs
        assert "second-panel" not in runs
        for command, refusal in {
            "run library-desk": "no run 'library-desk'",
            "open /etc/passwd": "not in a browser",
            "export labels.csv": "not in a browser",
        }.items():
            tab.command(command)
            assert "root:" not in tab.wait_for(refusal)
        with closing(Desk.open(path, reviewer="ann")) as desk:
            assert desk.head() == before
            desk.label(first, Truth.PASS)
        tab.press(Keys.ESCAPE)
        tab.wait_for("1 label · figures after")  # what the others do can be watched


def test_phone_has_the_keys_of_labelling_and_a_reader_has_none(path: Path, tmp_path: Path) -> None:
    for at, options in enumerate(((), ("--read-only", RUN))):
        with (
            serving(path, *options) as (link, _),
            browsing(tmp_path / f"profile{at}", PHONE) as browser,
        ):
            tab = Tab(browser, link, PHONE)
            if not options:
                tab.wait_for("opens the desk")
                tab.press("bea", Keys.ENTER)
            foot = tab.wait(lambda text: "jury" in text.split("\n")[-1]).split("\n")[-1]
            labelling = ["p pass", "f fail", "i can't tell", "u undo"]
            assert [one for one in labelling if one in foot] == ([] if options else labelling), foot


def test_hostile_text_is_text(browser: webdriver.Chrome, path: Path) -> None:
    with closing(Desk.open(path, reviewer="ann")) as desk:
        size = desk.run("hostile").verdicts
    with serving(path, "--run", "hostile") as (link, _):
        tab = Tab(browser, link)
        tab.enter_as("bea")
        windows = browser.window_handles
        for place in range(size):
            tab.command(f"go {place + 1}")
            tab.wait_for("RESPONSE")
        tab.press(Keys.F4)
        tab.wait_for("Calibration")
        assert browser.title == "reviewdesk"
        assert browser.window_handles == windows
        assert browser.execute_script("return document.scripts.length") == 2
        # Titles, links and the clipboard are set as the pointer's shape is, but for the number.
        assert re.findall(rb"\x1b\](?!22;[a-z]+\x07).{9}", tab.sent) == []
        assert not set(tab.sent) & set(b"\x00\x01\x02\x03\x04\x05\x06\x08\x0e\x0f\x7f")


_ATTACK = b"""<!DOCTYPE html><title>waiting</title><iframe src="%s"></iframe><script>
const socket = new WebSocket("%s");
socket.onopen = () => { document.title = "in"; };
socket.onerror = () => { document.title = "refused"; };
</script>"""


def test_a_page_of_another_origin_opens_no_console(browser: webdriver.Chrome, path: Path) -> None:
    with serving(path) as (link, server):
        Tab(browser, link).wait_for("opens the desk")  # so that the browser has the cookie
        netloc = urlsplit(link).netloc
        page = _ATTACK % (f"http://{netloc}/".encode(), f"ws://{netloc}/ws".encode())
        with another_site(page) as address:
            browser.get(address)
            WebDriverWait(browser, PATIENCE).until(lambda _: browser.title != "waiting")
            assert browser.title == "refused"
        WebDriverWait(browser, PATIENCE).until(lambda _: not consoles_of(server))


@contextmanager
def another_site(page: bytes) -> Iterator[str]:
    """Serve a page at a port of its own, which browsers take for another origin."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{found.server_port}/"
        finally:
            found.shutdown()


@pytest.mark.parametrize("size", [DESKTOP, TABLET], ids=["desktop", "tablet"])
def test_the_console_fills_a_page_alone(size: tuple[int, int], path: Path, tmp_path: Path) -> None:
    with serving(path, "--run", RUN) as (link, _), browsing(tmp_path / "profile", size) as browser:
        tab = Tab(browser, link, size)
        tab.enter_as("bea")
        area, rows, columns = tab.find(".xterm-screen"), len(tab.screen), len(tab.screen[0])
        wide, high = area.size["width"], area.size["height"]
        assert 0 <= size[0] - wide < 2 * wide / columns + 1
        assert 0 <= size[1] - high < high / rows + 1
        # A character of 16 px takes 0.6 of that: about 150 of them stand on a desktop's line.
        assert 8 < wide / columns < 11
        assert browser.execute_script("return document.fonts.check(\"16px 'Roboto Mono'\")")
        assert "? help" in tab.screen[-1]
        assert addresses_asked(browser, urlsplit(link).netloc) == set()
        troubles = [one for one in log_of(browser, "browser") if one["level"] == "SEVERE"]
        assert troubles == []
