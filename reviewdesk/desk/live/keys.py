"""Tell the process of the keys and the prices that the user's settings name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reviewdesk.live.keys import PROCESS


def use_references(
    commands: Mapping[str, Sequence[str]], entries: Mapping[str, str], prices: str = ""
) -> None:
    """Let ``@NAME`` stand for the key that a command prints, or that a keyring entry holds.

    ``prices`` is a file of prices in place of the package's; it is read when a panel is.
    """
    PROCESS.refer(commands, entries)
    if prices:
        from reviewdesk.reports.panels.prices import use_prices

        use_prices(prices)
