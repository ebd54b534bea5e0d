from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# The same examples on every run and every machine, and none that fails for being slow.
settings.register_profile("reviewdesk", derandomize=True, deadline=None)
settings.load_profile("reviewdesk")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--vectors",
        type=Path,
        metavar="FILE",
        help="a file of test vectors to run instead of the project's own",
    )
