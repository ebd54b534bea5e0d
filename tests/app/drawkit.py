"""A terminal that shows what is sent to it, and a driver that draws on one."""

from typing import Any

import pyte
from textual.drivers.headless_driver import HeadlessDriver

from reviewdesk.app.terminal.changes import ChangesDriver
from tests.app.appkit import Stage


class Terminal:
    """A terminal, full of signs that nobody sent."""

    def __init__(self, width: int, height: int) -> None:
        self.screen = pyte.Screen(width, height)
        self.stream = pyte.Stream(self.screen)
        # As Textual sets it: what does not fit on a line is not folded.
        self.screen.reset_mode(pyte.modes.DECAWM)
        self.send("".join(f"\x1b[{row + 1};1H{'#' * width}" for row in range(height)))

    def send(self, data: str) -> None:
        self.stream.feed(data)

    @property
    def cells(self) -> list[list[tuple[object, ...]]]:
        """What a person sees."""
        screen = self.screen
        return [
            [_seen(screen.buffer[y][x]) for x in range(screen.columns)] for y in range(screen.lines)
        ]

    @property
    def cursor(self) -> tuple[int, int]:
        return self.screen.cursor.y, min(self.screen.cursor.x, self.screen.columns - 1)


def _seen(cell: pyte.screens.Char) -> tuple[object, ...]:
    """Return a cell without the ink of a blank, which shows only in lines under or through it."""
    if cell.data == " " and not (cell.underscore or cell.strikethrough or cell.reverse):
        return (" ", cell.bg)
    return tuple(cell)


class _Wire(HeadlessDriver):
    """Keeps what is sent to it, and is taken for a terminal."""

    is_headless = False

    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)
        self.sent: list[str] = []

    def write(self, data: str) -> None:
        self.sent.append(data)


class WireDriver(ChangesDriver, _Wire):
    """Draws by changes, and keeps beside what is sent what would have been sent without them."""

    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)
        self.asked: list[str] = []

    def write(self, data: str) -> None:
        self.asked.append(data)
        super().write(data)


def wire(stage: Stage) -> WireDriver:
    driver = stage.app._driver
    assert isinstance(driver, WireDriver)
    return driver


async def sent(stage: Stage, *keys: str) -> str:
    """Press keys, and return what is sent to the terminal until they are handled and drawn."""
    driver = wire(stage)
    before = len(driver.sent)
    await stage.press(*keys)
    return "".join(driver.sent[before:])
