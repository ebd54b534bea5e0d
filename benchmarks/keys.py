"""Write the README's table of keys from the registry of actions."""

from __future__ import annotations

import re
from pathlib import Path

from reviewdesk.app.keys.readme_table import keys_table

README = Path(__file__).resolve().parent.parent / "README.md"


def main() -> None:
    """Replace what stands between the two marks."""
    text = README.read_text(encoding="utf-8")
    table = f"<!-- keys -->\n{keys_table()}\n<!-- /keys -->"
    made = re.sub(r"<!-- keys -->.*?<!-- /keys -->", lambda _: table, text, flags=re.DOTALL)
    README.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
