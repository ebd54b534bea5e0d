"""A long JSON array is printed in parts, byte for byte as one list."""

import json

import pytest

from reviewdesk.cli.common import put_json_list


@pytest.mark.parametrize("count", [0, 1, 500, 501, 1_200])
def test_an_array_in_parts_is_that_of_one_list(
    count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    values = [{"id": f"v{at}", "score": at / 7, "odd": "\x7f ü"} for at in range(count)]
    put_json_list(iter(values))
    # What one call of json.dumps writes, with the one control character that it leaves.
    assert capsys.readouterr().out == json.dumps(values).replace("\x7f", "\\u007f") + "\n"
