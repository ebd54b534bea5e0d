"""Read every verdict of a report, strictly, and keep none: ``python decode.py REPORT``."""

from __future__ import annotations

import sys
from collections import deque

from reviewdesk.desk.loading import LoadOptions
from reviewdesk.reports import read
from reviewdesk.reports.bytes.source import Source

if __name__ == "__main__":
    source = Source.from_path(sys.argv[1], max_size=1 << 40)
    found = read(source, LoadOptions(), streamed=True)
    deque(found.verdicts(), maxlen=0)
