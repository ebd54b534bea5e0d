"""What is in the archives that are published, and what their metadata says."""

import re
import shutil
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path
from urllib.parse import urldefrag

import pytest
from markdown_it import MarkdownIt
from packaging.metadata import Metadata

from reviewdesk.version import __version__
from tests.helpers import ROOT
from tests.package.packagekit import build, metadata, only, unpack

pytestmark = pytest.mark.slow

_HOOK = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]
REPOSITORY: str = _HOOK["metadata"]["hooks"]["custom"]["repository"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution and the wheel."""
    folder = tmp_path_factory.mktemp("built")
    build(ROOT, folder)
    return folder


@pytest.fixture(scope="module")
def described(built: Path) -> Metadata:
    """The wheel's metadata, every field checked as an index checks it."""
    return Metadata.from_email(metadata(only(built, "*.whl")), validate=True)


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def targets(text: str) -> list[str]:
    """Return what the links and pictures of a page lead to, those in its HTML as well."""
    found = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        for one in (token, *(token.children or ())):
            if one.type in {"html_inline", "html_block"}:
                found += re.findall(r'(?:src|srcset|href)="([^"]+)"', one.content)
            found += [str(one.attrs[name]) for name in ("href", "src") if name in one.attrs]
    return found


def test_no_link_of_the_long_description_is_relative(described: Metadata) -> None:
    assert described.description_content_type == "text/markdown"
    found = targets(described.description or "")
    assert len(found) > 20
    assert [target for target in found if not target.startswith("https://")] == []
    own = [target for target in found if target.startswith(REPOSITORY)]
    kinds = set()
    for target in own:
        kind, tag, path = urldefrag(target).url.removeprefix(f"{REPOSITORY}/").split("/", 2)
        kinds.add(kind)
        assert tag == f"v{__version__}"
        assert (ROOT / path).is_file(), target
        # A page of the repository is no picture that another site can show.
        assert (kind == "raw") == (Path(path).suffix in {".svg", ".png", ".gif"}), target
    assert kinds == {"blob", "raw"}


def test_the_words_are_those_of_the_readme(described: Metadata) -> None:
    before = rf"{re.escape(REPOSITORY)}/\w+/v{re.escape(__version__)}/(?:README\.md(?=#))?"
    shown = re.sub(before, "", described.description or "")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert shown.strip() == readme.strip()


def test_the_metadata_names_the_project(described: Metadata) -> None:
    assert str(described.version) == __version__
    urls = described.project_urls or {}
    assert list(urls) == ["Homepage", "Documentation", "Changelog", "Issues"]
    owner, name = REPOSITORY.split("/")[-2:]
    assert urls.pop("Documentation") == f"https://{owner}.github.io/{name}/"
    assert all(url.startswith(REPOSITORY) for url in urls.values())
    assert {"inspect", "test"} <= {str(extra) for extra in described.provides_extra or ()}
    assert described.license_expression == "MIT"


def test_the_address_is_in_one_place(built: Path, tmp_path: Path) -> None:
    source = unpack(only(built, "*.tar.gz"), tmp_path)
    name = REPOSITORY.removeprefix("https://").encode()
    files = [path for path in source.rglob("*") if path.is_file()]
    found = {path.name for path in files if name in path.read_bytes()}
    # The page of gates names it in what people copy, and fails here if the project moves.
    assert found == {"pyproject.toml", "PKG-INFO", "gates-in-ci.md"}


@pytest.mark.skipif(
    shutil.which("git") is None or not (ROOT / ".git").exists(), reason="not in a clone"
)
def test_the_source_distribution_is_the_repository(built: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    with tarfile.open(only(built, "*.tar.gz")) as archive:
        held = {member.name.partition("/")[2] for member in archive if member.isfile()}
    there = {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}
    assert held - {"PKG-INFO"} == there


def test_the_wheel_of_the_source_distribution_is_the_wheel(built: Path, tmp_path: Path) -> None:
    source = unpack(only(built, "*.tar.gz"), tmp_path / "source")
    build(source, tmp_path / "again", "wheel")
    wheel = contents(only(built, "*.whl"))
    assert contents(only(tmp_path / "again", "*.whl")) == wheel
    package = [path for path in (source / "reviewdesk").rglob("*") if path.is_file()]
    samples = [path for path in (source / "sample_runs").iterdir() if path.is_file()]
    names = {path.relative_to(source).as_posix() for path in package}
    names |= {f"reviewdesk/sample_runs/{path.name}" for path in samples}
    info = f"reviewdesk-{__version__}.dist-info"
    assert {name for name in wheel if not name.startswith(info)} == names
    assert {"reviewdesk/py.typed", "reviewdesk/cli/__init__.py"} <= names
    assert wheel[f"{info}/entry_points.txt"].split() == [
        b"[console_scripts]", b"reviewdesk", b"=", b"reviewdesk.cli:main",
        b"[pytest11]", b"reviewdesk", b"=", b"reviewdesk.pytest",
    ]  # fmt: skip
