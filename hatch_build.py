"""The parts of the package's metadata that hold the address of the project."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from hatchling.metadata.plugin.interface import MetadataHookInterface

_TARGET = re.compile(r"""(\]\(|^\[[^\]]+\]:\s+|(?:src|srcset|href)=")([^)\s"]+)""", re.MULTILINE)
_PICTURES = (".svg", ".png", ".gif")


class ProjectAddress(MetadataHookInterface):
    """Adds the project's URLs, and the README with links that lead into the repository."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set ``urls`` and ``readme``; links lead to the tag of the version that is built."""
        repository, tag = self.config["repository"], f"v{metadata['version']}"
        owner, name = repository.split("/")[-2:]
        metadata["urls"] = {
            "Homepage": repository,
            "Documentation": f"https://{owner}.github.io/{name}/",
            "Changelog": f"{repository}/blob/HEAD/CHANGELOG.md",
            "Issues": f"{repository}/issues",
        }
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = with_absolute_links(text, repository, tag)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def with_absolute_links(text: str, repository: str, tag: str) -> str:
    """Return the README with absolute links; those to pictures lead to the file itself."""

    def absolute(found: re.Match[str]) -> str:
        before, target = found.groups()
        kind = "raw" if target.endswith(_PICTURES) else "blob"
        return before + urljoin(f"{repository}/{kind}/{tag}/README.md", target)

    return _TARGET.sub(absolute, text)
