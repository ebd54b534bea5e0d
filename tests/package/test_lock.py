"""The lock file holds versions and hashes of all that the project asks for, and no address."""

import re
import tomllib
from collections import defaultdict
from itertools import chain

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.helpers import ROOT

LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
STALE = "requirements.lock is stale; CONTRIBUTING says how it is made"


def asked() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = (project["dependencies"], *project["optional-dependencies"].values())
    return [Requirement(line) for line in chain.from_iterable(lists)]


def entries(text: str) -> list[tuple[Requirement, str]]:
    """Return each locked requirement, with the lines of its hashes and of who asks for it."""
    parts = re.split(r"^(?=\S)", text, flags=re.MULTILINE)
    heads = [(part.partition("--hash")[0].rstrip(" \\\n"), part) for part in parts if part]
    return [(Requirement(head), part) for head, part in heads]


def stale(text: str, wanted: list[Requirement]) -> set[str]:
    """Return what is locked by nobody's wish, what is not locked, and what is out of its bounds."""
    locked = defaultdict(list)
    for found, part in entries(text):
        if "reviewdesk (pyproject.toml)" in part:
            (version,) = (one.version for one in found.specifier)
            locked[canonicalize_name(found.name)].append(version)
    names = {canonicalize_name(one.name) for one in wanted}
    outside = {
        canonicalize_name(one.name)
        for one in wanted
        for version in locked[canonicalize_name(one.name)]
        if not one.specifier.contains(version)
    }
    return {name for name in locked if locked[name]} ^ names | outside


def test_the_lock_fits_the_project() -> None:
    assert stale(LOCK, asked()) == set(), STALE


def test_every_version_is_one_and_has_hashes() -> None:
    found = entries(LOCK)
    assert len(found) > 40
    for requirement, part in found:
        assert [one.operator for one in requirement.specifier] == ["=="]
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", part), requirement.name
        assert requirement.url is None
    assert "//" not in LOCK


HASHED = f"    --hash=sha256:{'0' * 64}\n    # via reviewdesk (pyproject.toml)\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"a==1.2 \\\n{HASHED}", set()),
        (f"a==2.0 ; python_version < '3.12' \\\n{HASHED}a==1.5 \\\n{HASHED}", {"a"}),
        (f"a==1.2 \\\n{HASHED}b==1 \\\n{HASHED}", {"b"}),
        (f"a==1.2 \\\n{HASHED.replace('reviewdesk (pyproject.toml)', 'b')}", {"a"}),
        ("", {"a"}),
    ],
)
def test_a_stale_lock_is_found(text: str, found: set[str]) -> None:
    assert stale(text, [Requirement("A>=1,<2")]) == found
