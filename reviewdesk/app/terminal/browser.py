"""The driver of a console whose terminal is in a browser, at the other end of two pipes."""

import asyncio
import signal
from contextlib import suppress
from typing import Any

from textual.drivers._byte_stream import ByteStream
from textual.drivers.web_driver import WINDOWS, WebDriver, _ExitInput
from textual.message import Message

from reviewdesk.app.terminal.changes import GuardedDriver, TerminalInput, is_size


class BrowserDriver(GuardedDriver, WebDriver):
    """Closes the app, so that it saves, when the pipe that brings its keys ends."""

    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)
        self._leaves = app

    def start_application_mode(self) -> None:
        """Begin, and leave signals to the program: Textual's own handler would not save."""
        numbers = () if WINDOWS else (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.getsignal(number) for number in numbers}
        super().start_application_mode()
        for number, handler in before.items():
            asyncio.get_running_loop().remove_signal_handler(number)
            signal.signal(number, handler)

    def run_input_thread(self) -> None:
        """Read input until the app ends or the other end is closed."""
        reader = TerminalInput(self._debug)
        stream = ByteStream()
        with suppress(_ExitInput):
            for data in self._input_reader:
                for kind, payload in stream.feed(data) if data else ():
                    if kind == "D":
                        self._receive(reader.feed(payload))
                    else:
                        self._on_meta(kind, payload)
                self._receive(reader.look())
        self._input_reader.close()
        if not self.exit_event.is_set():
            self._leaves.call_from_thread(self._leaves.action_close_desk)

    def _on_meta(self, packet_type: str, payload: bytes) -> None:
        with suppress(ValueError, LookupError, TypeError, AttributeError, RecursionError):
            super()._on_meta(packet_type, payload)

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        if packet_type != "resize" or is_size(payload["width"], payload["height"]):
            super().on_meta(packet_type, payload)

    def _receive(self, messages: list[Message]) -> None:
        for message in messages:
            self.process_message(message)

    def write(self, data: str) -> None:
        with suppress(BrokenPipeError):
            super().write(data)

    def write_meta(self, data: dict[str, object]) -> None:
        with suppress(BrokenPipeError):
            super().write_meta(data)
