"""A served desk, and a headless Chromium that looks at it as a person does."""

import base64
import json
import shutil
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pyte
import pytest
from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from tests.helpers import ROOT, environment

PATIENCE = 60
"""Seconds that a busy machine may take to start a console and draw it."""
READING = 0.4
"""Seconds before a key: a label counts only when its item has been painted for 150 ms."""
DESKTOP, TABLET, PHONE = (1440, 900), (820, 1180), (390, 844)

_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
_RECORDER = """
window.sockets || (() => {
  const Real = window.WebSocket;
  window.sockets = []; window.drawn = []; window.sizes = [];
  window.WebSocket = class extends Real {
    constructor(...given) {
      super(...given);
      window.sockets.push(this);
      this.addEventListener("message", ({data}) => {
        if (typeof data === "string") return;
        const text = Array.from(new Uint8Array(data), (byte) => String.fromCharCode(byte)).join("");
        window.drawn.push(btoa(text));
      });
    }
    send(data) {
      const [what, size] = JSON.parse(data);
      if (what === "resize") window.sizes.push([size.width, size.height]);
      super.send(data);
    }
  };
})();
"""


@contextmanager
def serving(
    desk: Path, *options: str, port: int = 0
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Serve a desk at a free port, and end the server; yields the link and the process."""
    command = [sys.executable, "-m", "reviewdesk", "serve", "--port", str(port), *options]
    with subprocess.Popen(
        command, env=environment(desk), cwd=ROOT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as server:  # fmt: skip
        assert server.stdout is not None
        link = server.stdout.readline().strip()
        if not link:
            pytest.fail(server.communicate()[1])
        try:
            yield link, server
        finally:
            server.terminate()
            try:
                _, said = server.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                server.kill()  # else leaving the block waits for it without end
                raise
            assert "Traceback" not in said, said
    assert server.returncode == 0, said


@contextmanager
def browsing(profile: Path, size: tuple[int, int] = DESKTOP) -> Iterator[webdriver.Chrome]:
    """Start a browser with a profile of its own, whose pages keep what their consoles send."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*_FLAGS, f"--window-size={size[0]},{size[1]}", f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield browser
    finally:
        browser.quit()


def log_of(browser: webdriver.Chrome, kind: str) -> list[dict[str, str]]:
    """Return what the browser has noted since the last call."""
    noted: list[dict[str, str]] = browser.get_log(kind)  # type: ignore[no-untyped-call]
    return noted


def addresses_asked(browser: webdriver.Chrome, own: str) -> set[str]:
    """Return what the browser has asked of any server but ``own``, its own empty tab apart."""
    found = (json.loads(entry["message"])["message"] for entry in log_of(browser, "performance"))
    sent = [one["params"] for one in found if one["method"] == "Network.requestWillBeSent"]
    urls = {str(one["request"]["url"]) for one in sent}
    return {url for url in urls if not url.startswith(("data:", "chrome:")) and own not in url}


class Tab:
    """One console in the browser: what its terminal shows, keys and clicks."""

    def __init__(
        self, browser: webdriver.Chrome, link: str, size: tuple[int, int] = DESKTOP
    ) -> None:
        """Open a link in the tab that is in front, on a screen of a size."""
        self.browser, self.handle = browser, browser.current_window_handle
        screen = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _RECORDER})
        self._began()
        browser.get(link)

    def _began(self) -> None:
        self.sent = b""
        self._screen = pyte.Screen(80, 24)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def screen(self) -> list[str]:
        """The lines of the terminal, after all that its console has sent so far."""
        self.browser.switch_to.window(self.handle)
        sizes, drawn = self.browser.execute_script(
            "return [window.sizes.slice(-1), (window.drawn || []).splice(0)]"
        )
        for columns, rows in sizes:
            if (rows, columns) != (self._screen.lines, self._screen.columns):
                self._screen.resize(rows, columns)
        for frame in drawn:
            self.sent += base64.b64decode(frame)
            self._stream.feed(base64.b64decode(frame))
        return list(self._screen.display)

    @property
    def text(self) -> str:
        """The whole screen as one text."""
        return "\n".join(self.screen)

    def wait(self, until: Callable[[str], object]) -> str:
        """Wait until the screen's text is as wanted, and return it."""
        seen = ""

        def looks_right(_browser: object) -> bool:
            nonlocal seen
            seen = self.text
            return bool(until(seen))

        try:
            WebDriverWait(self.browser, PATIENCE, 0.1).until(looks_right)
        except TimeoutException:
            pytest.fail(f"the console shows\n{seen}\n{self.body_classes}")
        return seen

    def wait_for(self, words: str) -> str:
        """Wait until the screen holds these words."""
        return self.wait(lambda text: words in text)

    def press(self, *keys: str) -> None:
        """Press keys, wherever the page has put the focus, once what they are for was read."""
        self.browser.switch_to.window(self.handle)
        ActionChains(self.browser).pause(READING).send_keys(*keys).perform()

    def enter_as(self, name: str) -> str:
        """Give a name at the door."""
        self.wait_for("opens the desk")
        self.press(name)
        self.wait_for(f" {name} ")
        self.press(Keys.ENTER)
        return self.wait(lambda text: "opens the desk" not in text and "? help" in text)

    def command(self, text: str) -> None:
        """Type a command line."""
        self.press(":")
        self.wait_for("enter applies")
        self.press(text, Keys.ENTER)
        self.wait(lambda shown: "enter applies" not in shown)

    def click(self, words: str) -> None:
        """Click into the middle of words on the screen."""
        lines = self.screen
        row = next(y for y, line in enumerate(lines) if words in line)
        column = lines[row].index(words) + len(words) // 2
        area = self.find(".xterm-screen")
        wide, high = area.size["width"], area.size["height"]
        x = wide * (column + 0.5) / self._screen.columns - wide / 2
        y = high * (row + 0.5) / self._screen.lines - high / 2
        pointer = ActionChains(self.browser).pause(READING)
        pointer.move_to_element_with_offset(area, round(x), round(y)).click().perform()

    def find(self, selector: str) -> WebElement:
        """Return an element of the page."""
        self.browser.switch_to.window(self.handle)
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    @property
    def body_classes(self) -> str:
        """The state of the page, as its terminal says it."""
        return self.find("body").get_attribute("class") or ""

    def wait_for_end(self) -> None:
        """Wait until the page says that its console has ended."""
        WebDriverWait(self.browser, PATIENCE, 0.1).until(lambda _: "-closed" in self.body_classes)

    def open_again(self) -> None:
        """Press the page's button for a new console."""
        self.find("#again").click()
        self._began()


class Line:
    """A connection to a server that can be cut, as that of a laptop on a train."""

    def __init__(self, port: int) -> None:
        """Listen at a port of its own, and pass everything on to ``port``."""
        self._port, self._ends = port, list[socket.socket]()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._port))
                self._ends += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=_pass_on, args=(one, other), daemon=True).start()

    def cut(self) -> None:
        """Cut every connection there is; later ones go through."""
        while self._ends:
            end = self._ends.pop()
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        """Cut everything, for good."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(1 << 16):
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)


def free_port() -> int:
    """Return a port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def consoles_of(server: subprocess.Popen[str]) -> list[str]:
    """Return the processes that a server has started and that have not ended."""
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(server.pid)], capture_output=True, text=True, check=False
    )
    return found.stdout.split()


def token_of(link: str) -> str:
    """Return the token of a link."""
    return parse_qs(urlsplit(link).query)["token"][0]
