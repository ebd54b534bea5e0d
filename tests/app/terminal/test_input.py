"""Input that no terminal sends is dropped, and the keys behind it arrive."""

import asyncio
import os
import random
from collections.abc import Iterator
from typing import Any

import pytest
from textual.drivers import web_driver
from textual.events import Key, Paste, Resize
from textual.geometry import Size
from textual.message import Message

from reviewdesk.app.terminal.browser import BrowserDriver
from reviewdesk.app.terminal.changes import ChangesDriver, Shown, TerminalInput
from tests.app.appkit import seeds

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the driver of POSIX terminals")

MALFORMED = (
    b"\x1b[999999999999A", b"\x1b[99999999u", b"\x1b[48;0;0;0;0t", b"\x1b[48;24;80;0;0t",
    b"\x1b[48;99999999;99999999;1;1t", b"\xff\xfe", b"\x1b[1;99999999999u", b"\x1b[<0;0;0M",
    b"\x1b[<999999999;99999999;1M", b"\x1b[55296u", b"\x1b[;;u", b"\x1b[1;1;1114112u", b"\x1b[::;A",
)  # fmt: skip


class _App:
    shown = Shown()
    entered = False

    def call_later(self, *_given: object) -> None:
        raise AssertionError("the driver broke off")


class TypedKeys:
    """The driver of the platform over a pipe, which keeps the messages that come of its input."""

    def __init__(self) -> None:
        from textual.drivers.linux_driver import LinuxDriver

        kind = type("TerminalDriver", (ChangesDriver, LinuxDriver), {})

        async def made() -> Any:
            return kind(_App(), debug=False, mouse=True, size=(80, 24))

        self.driver = asyncio.run(made())
        self.messages: list[Message] = []
        self.driver.send_message = self.messages.append

    def of(self, *chunks: bytes) -> list[Message]:
        """The messages of some input, each chunk read alone."""
        self.messages.clear()
        left = [*chunks]
        ours, theirs = os.pipe()
        self.driver.fileno, self.driver.exit_event = ours, _Fed(left, theirs)
        try:
            self.driver.run_input_thread()
        finally:
            os.close(ours)
            os.close(theirs)
        return self.messages


class _Fed:
    """An event that is set when everything was given; each look at it gives the next chunk."""

    def __init__(self, left: list[bytes], into: int) -> None:
        self._left, self._into = left, into

    def is_set(self) -> bool:
        if not self._left:
            return True
        os.write(self._into, self._left.pop(0))
        return False


@pytest.fixture(scope="module")
def keys() -> TypedKeys:
    return TypedKeys()


def pressed(messages: list[Message]) -> list[str]:
    return [message.key for message in messages if isinstance(message, Key)]


@pytest.mark.parametrize("sequence", MALFORMED, ids=repr)
def test_what_no_terminal_sends_is_dropped(keys: TypedKeys, sequence: bytes) -> None:
    found = pressed(keys.of(b"j", sequence, b"k"))
    assert (found[0], found[-1]) == ("j", "k")
    for message in keys.messages:
        assert not isinstance(message, Resize) or message.size.area > 0


def test_a_size_that_none_has_is_dropped(keys: TypedKeys) -> None:
    keys.messages.clear()
    for width, height in ((0, 24), (80, 0), (80, 99_999), (81, 25)):
        keys.driver.process_message(Resize(Size(width, height), Size(width, height)))
    assert [message.size for message in keys.messages if isinstance(message, Resize)] == [
        Size(81, 25)
    ]


PARTS = (b"\x1b", b"[", b"<", b";", b":", b"u", b"A", b"M", b"t", b"~", b"R", b"200~", b"\xc3")


def malformed(dice: random.Random, count: int) -> list[bytes]:
    """Return sequences of random pieces, and behind them the end of a paste and of a sequence."""
    return [
        b"".join(
            dice.choice([*PARTS, str(dice.randrange(10 ** dice.randrange(1, 14))).encode()])
            for _ in range(dice.randrange(1, 12))
        )
        for _ in range(count)
    ] + [b"\x1b[201~", b"\x1b[I"]


@pytest.mark.parametrize("seed", seeds(20))
def test_random_input_leaves_the_driver_at_work(keys: TypedKeys, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - dice, not secrets
    assert pressed(keys.of(*malformed(dice, 50), b"k"))[-1] == "k"


class BrowserKeys:
    """The driver of a console in a browser, whose pipe holds prepared packets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def made() -> Any:
            return BrowserDriver(self._app, debug=False, mouse=True, size=(80, 24))

        self._app = _Left()
        # Not every stdin of a test can be waited for.
        monkeypatch.setattr(web_driver, "InputReader", lambda: _Pipe(iter(())))
        self.driver = asyncio.run(made())
        self.messages: list[Message] = []
        self.driver.send_message = self.messages.append

    def of(self, *packets: tuple[bytes, bytes]) -> list[Message]:
        """The messages of some packets, each of a kind and a payload."""
        self.messages.clear()
        framed = (kind + len(data).to_bytes(4, "big") + data for kind, data in packets)
        self.driver._input_reader = _Pipe(framed)
        self.driver.run_input_thread()
        return self.messages + self._app.posted


class _Left(_App):
    def __init__(self) -> None:
        self.posted: list[Message] = []

    def post_message(self, message: Message) -> None:
        self.posted.append(message)

    def call_from_thread(self, act: object) -> None:
        pass

    def action_close_desk(self) -> None:
        pass


class _Pipe:
    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        return self._chunks

    def close(self) -> None:
        pass


NO_MESSAGES = (
    b"", b"{", b"[]", b"1", b"{}", b'{"type": 7}', b'{"type": "resize"}', b"[" * 5000, b"\xff",
    b'{"type": "resize", "width": "x", "height": 2}',
    b'{"type": "resize", "width": 0, "height": 24}',
    b'{"type": "resize", "width": 80, "height": 1e9}',
    b'{"type": "resize", "width": 99999, "height": 99999}',
    b'{"type": "deliver_chunk_request", "key": [], "size": "x"}',
)  # fmt: skip


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> BrowserKeys:
    return BrowserKeys(monkeypatch)


@pytest.mark.parametrize("sequence", MALFORMED, ids=repr)
def test_the_browsers_driver_drops_it_too(page: BrowserKeys, sequence: bytes) -> None:
    found = page.of((b"D", b"j"), (b"D", sequence), (b"D", b"k"))
    assert (pressed(found)[0], pressed(found)[-1]) == ("j", "k")
    assert all(one.size.area > 0 for one in found if isinstance(one, Resize))


@pytest.mark.parametrize("message", NO_MESSAGES, ids=repr)
def test_the_browsers_driver_drops_what_no_server_says(page: BrowserKeys, message: bytes) -> None:
    sized = b'{"type": "resize", "width": 100, "height": 40}'
    found = page.of((b"M", message), (b"X", message), (b"M", sized), (b"D", b"k"))
    assert pressed(found) == ["k"]
    assert [one.size for one in found if isinstance(one, Resize)] == [Size(100, 40)]


@pytest.mark.parametrize("seed", seeds(5))
def test_random_input_leaves_the_browsers_driver_at_work(page: BrowserKeys, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - dice, not secrets
    packets = [(b"D", data) for data in malformed(dice, 50)]
    assert pressed(page.of(*packets, (b"D", b"k")))[-1] == "k"


COLOURED = b"\x1b[200~\x1b[31mpass fail\x1b[0m\npfi \x1b\x1b[2J\x1b[201~"


def pasted(messages: list[Message]) -> list[str]:
    return [message.text for message in messages if isinstance(message, Paste)]


def chunks_at(data: bytes, cuts: list[int]) -> list[bytes]:
    ends = [*cuts, len(data)]
    return [data[start:end] for start, end in zip([0, *cuts], ends, strict=True)]


@pytest.mark.parametrize("cut", range(1, len(COLOURED)))
def test_paste_of_coloured_text_is_one_paste_wherever_it_is_cut(keys: TypedKeys, cut: int) -> None:
    found = keys.of(b"j", *chunks_at(COLOURED, [cut]), b"k")
    assert pasted(found) == ["[31mpass fail[0m\npfi [2J"]
    assert pressed(found) == ["j", "k"]


def test_a_paste_that_arrives_byte_by_byte_and_another_behind_it(keys: TypedKeys) -> None:
    data = COLOURED + b"\x1b[200~\x1b[201~" + b"\x1b[200~p\x1b[201~k"
    found = keys.of(*(data[at : at + 1] for at in range(len(data))))
    assert pasted(found) == ["[31mpass fail[0m\npfi [2J", "", "p"]
    assert pressed(found) == ["k"]


def test_the_mark_of_a_paste_may_be_cut_for_longer_than_an_escape_key_takes() -> None:
    reader = TerminalInput()
    assert reader.feed(b"\x1b") == []
    reader.look()
    # Textual's parser tells the escape key once a tenth of a second has passed.
    reader._parser._timeout_time = 0.0
    assert pressed(reader.look()) == ["escape"]
    for part in (b"[20", b"0~p\x1b[31mf\x1b", b"[2", b"01"):
        assert reader.feed(part) == []
    assert pasted(reader.feed(b"~")) == ["p[31mf"]


def test_other_sequences_are_keys_wherever_they_are_cut(keys: TypedKeys) -> None:
    data = b"\x1b[24~\x1b[A\x1b[2~j"
    for cut in range(1, len(data)):
        assert pressed(keys.of(*chunks_at(data, [cut]))) == ["f12", "up", "insert", "j"]


def test_keys_behind_a_malformed_sequence_of_the_same_read_arrive(keys: TypedKeys) -> None:
    assert pressed(keys.of(b"j\x1b[999999999999Ak\xffl")) == ["j", "k", "l"]
