"""The size above which a file is hard to read as one: 600 lines."""

from pathlib import Path

from tests.helpers import ROOT

LINES = 600


def sources() -> list[Path]:
    """Everything written by hand: the package with its stylesheets, and the tests."""
    return sorted(
        path
        for folder in ("reviewdesk", "tests")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".tcss"}
    )


def test_no_file_is_over_its_budget() -> None:
    found = sources()
    assert Path(__file__).resolve() in found
    sizes = {path: path.read_text(encoding="utf-8").count("\n") for path in found}
    assert {str(path.relative_to(ROOT)): n for path, n in sizes.items() if n > LINES} == {}
