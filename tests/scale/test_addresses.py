"""What a pattern names, on this machine and at an address that needs no network."""

from pathlib import Path

import pytest

from reviewdesk.errors import UsageError
from reviewdesk.scale.crew import expand, local_copy, refuse_keys


def test_a_pattern_names_files_in_order_and_a_plain_name_itself(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    paths = [tmp_path / name for name in ("b.jsonl", "a.jsonl", "sub/c.jsonl")]
    for path in paths:
        path.touch()
    assert expand(str(tmp_path / "*.jsonl")) == [str(paths[1]), str(paths[0])]
    assert expand(str(tmp_path / "**" / "*.jsonl")) == sorted(map(str, paths))
    assert expand(str(tmp_path / "absent.jsonl")) == [str(tmp_path / "absent.jsonl")]


def test_an_address_is_listed_and_copied_for_a_while() -> None:
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").pipe({"/evals/b.jsonl": b"two", "/evals/a.jsonl": b"one"})
    found = expand("memory://evals/*.jsonl")
    assert found == ["memory:///evals/a.jsonl", "memory:///evals/b.jsonl"]
    with local_copy(found[1]) as path:
        assert path.read_bytes() == b"two"
    assert not path.exists()


def test_an_address_with_a_password_is_refused_without_its_words() -> None:
    with pytest.raises(UsageError) as refused:
        refuse_keys("s3://ann:secret@evals/a.jsonl")
    assert "secret" not in str(refused.value)
    refuse_keys("s3://evals/a.jsonl")
