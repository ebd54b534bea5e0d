"""`judge` over two workers behind a limiter, one of which is killed: 2,000 cases, two jurors.

The vendor admits 16 requests at once, and 1,500 of each model in any minute, which the panel states
as `rpm`. Printed are the ballots that were lost, the requests that the vendor had to refuse, and
the calls that it answered twice beside those that were open on the killed worker.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
JURORS, OPEN, RATE = 2, 16, 1500


async def measured(count: int, folder: Path) -> None:
    """Judge so many cases, kill a worker at a third of them, and print what became of the calls."""
    from tests.judgekit import Room
    from tests.live.clusterkit import NAME, LimitedVendor, holds_key, judge_by_own_workers
    from tests.live.server import Server

    vendor, room = LimitedVendor(OPEN, RATE), Room(folder)
    names = [f"c{at}" for at in range(count)]
    async with Server(fault=vendor) as server:
        juror = f", api_key_env: {NAME}, rpm: {RATE}"
        room.put(names, url=server.url, count=JURORS, juror=juror)
        kill_after = count * JURORS // 3
        done = await judge_by_own_workers(room, server, kill_after, "--per-host", str(OPEN))
    twice = vendor.paid - Counter((name, f"m{seat}") for name in names for seat in range(JURORS))
    told = done.told
    print(f"exit {done.code}, {told['verdicts']} verdicts, {told['calls']} calls")
    print(f"{told['failed_ballots']} ballots lost, {vendor.refused} requests refused by the vendor")
    print(f"{done.lost.total()} calls open on the killed worker, {twice.total()} answered twice")
    print(f"of these {(twice - done.lost).total()} were not open on it")
    print(f"{len(holds_key(folder))} files with the key; {told['seconds']:.0f} s")


def main() -> None:
    """Run it in a temporary folder."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--cases", type=int, default=2000)
    given = asked.parse_args()
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measured(given.cases, Path(folder)))


if __name__ == "__main__":
    main()
