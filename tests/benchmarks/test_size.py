"""The agreed size of the product, which only a decision may raise."""

import sys

import pytest

from tests.helpers import ROOT

sys.path.append(str(ROOT / "benchmarks"))

import size

LINES = 77_225
TOKENS = 550_913
TESTS = 0.9

pytestmark = pytest.mark.slow


def test_the_product_stays_within_the_agreed_size() -> None:
    product = size.Size.of(size.tracked("reviewdesk"))
    assert product.lines <= LINES
    assert product.tokens <= TOKENS
    tests = sum(file.read_bytes().count(b"\n") for file in size.tracked("tests"))
    assert tests <= TESTS * product.lines


def test_the_import_closure_follows_imports_inside_functions() -> None:
    names = {path.relative_to(size.ROOT).as_posix() for path in size.closure()}
    # The command imports the app in the body of a function.
    assert {"reviewdesk/cli/review.py", "reviewdesk/app/app.py", "reviewdesk/__init__.py"} <= names
    assert "reviewdesk/mcp.py" not in names
