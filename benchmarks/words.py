"""Print the CPU time of every kind of filter and of every order over a run, cold and warm.

Run it on a copy of a desk: ``python benchmarks/words.py DESK``. Cold, the columns of the run are
read first; warm, they are in memory.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from reviewdesk.desk.core import Desk
from reviewdesk.domain.query.words import BALLOTS, CHOICES, NUMBERS, ORDERS, STATES, UNANIMOUS

FILTERS = (
    "esc", *STATES, *BALLOTS, *UNANIMOUS, "wrong", "tag:none", "id~001", "test~a", "juror:none",
    *(f"{name}:{value}" for name in CHOICES for value in list(CHOICES[name])[:1]),
    *(f"{name}>.5" for name in NUMBERS),
)  # fmt: skip


def main() -> None:
    """Time each word twice."""
    desk = Desk.open(Path(sys.argv[1]))
    run = desk.run()
    print(f"{run.verdicts:,} verdicts; ms of CPU\n{'':24}{'cold':>8}{'warm':>8}{'kept':>12}")
    asked = [(text, "draw") for text in FILTERS] + [("", name) for name in (*ORDERS, "mix")]
    for text, order in asked:
        took, found = [], 0
        for _ in range(2):
            start = time.process_time()
            found = len(desk.queue(run, text, order))
            took.append((time.process_time() - start) * 1000)
        print(f"{text or 'order ' + order:24}{took[0]:8.0f}{took[1]:8.0f}{found:12,}")
    desk.close()


if __name__ == "__main__":
    main()
