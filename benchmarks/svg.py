"""Screens as SVG: one that stands still, or several that play one after the other.

Textual exports a screen as a drawing that loads a font from elsewhere and clips every line. A page
that embeds a picture loads nothing for it, so the screens are drawn again, each line once.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from operator import itemgetter

CELL, LINE, BASE = 10, 20, 15
"""Width and height of a character's cell, and its baseline; Textual draws 12.2 x 24.4."""
SCALE = CELL / 12.2
BAR, MARGIN, CAPTION = 28, 8, 34
FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
GROUND, EDGE, BRIGHT, DIM = "#15171b", "#4a525d", "#f4f6f8", "#9aa4b1"

_STYLE = re.compile(r"\.terminal-\d+-(r\d+) \{ (.*?) \}")
_BACK = re.compile(r'<rect fill="(#\w+)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"')
_TEXT = re.compile(
    r'<text class="terminal-\d+-(r\d+)" x="([\d.]+)" y="([\d.]+)" '
    r'textLength="([\d.]+)"[^>]*>(.*?)</text>'
)


@dataclass(frozen=True, slots=True)
class Frame:
    """A screen that plays: what Textual exported, the key before it, a caption, its seconds."""

    shot: str
    key: str
    caption: str
    seconds: float


@dataclass(slots=True)
class Sheet:
    """The styles and lines of a picture, each under the name by which it is used."""

    styles: dict[str, str] = field(default_factory=dict)
    lines: dict[str, str] = field(default_factory=dict)

    def screen(self, shot: str) -> str:
        """Return a screen as uses of lines, which are kept where they are new."""
        styles = dict(_STYLE.findall(shot))
        backs: dict[int, list[str]] = {}
        texts: dict[int, list[str]] = {}
        for (fill, y), group in groupby(_BACK.findall(shot), key=itemgetter(0, 2)):
            row = round((float(y) - 1.5) / 24.4)
            spans = [(_px(x), _px(float(x) + float(width))) for _, x, _, width in group]
            backs.setdefault(row, []).extend(
                f'<path fill="{fill}" d="M{left} 0H{right}v{LINE}H{left}z"/>'
                for left, right in _joined(spans)
            )
        for style, x, y, width, text in _TEXT.findall(shot):
            if text.replace("&#160;", "").strip():
                name = self.styles.setdefault(styles[style], f"s{len(self.styles)}")
                row = round((float(y) - 20) / 24.4)
                texts.setdefault(row, []).append(
                    f'<text class="{name}" x="{_px(x)}" y="{BASE}" textLength="{_px(width)}">'
                    f"{text.replace('&#160;', chr(160))}</text>"
                )
        uses = []
        for row in sorted(backs.keys() | texts.keys()):
            line = "".join(backs.get(row, [])) + "".join(texts.get(row, []))
            name = self.lines.setdefault(line, f"l{len(self.lines)}")
            uses.append(f'<use href="#{name}" y="{row * LINE}"/>')
        return "".join(uses)

    def document(
        self,
        size: tuple[int, int],
        body: str,
        *,
        css: str = "",
        foot: int = 0,
        ground: str = GROUND,
    ) -> str:
        """Return the picture of a terminal's window of so many cells with a body in it."""
        width, height = size[0] * CELL + 2 * MARGIN, size[1] * LINE + BAR + MARGIN + foot
        rules = [
            f"text{{font:16.6px {FONT};white-space:pre}}",
            *(f".{name}{{{style.replace(' ', '')}}}" for style, name in self.styles.items()),
            css,
        ]
        dots = "".join(
            f'<circle cx="{18 + at * 20}" cy="14" r="6" fill="{fill}"/>'
            for at, fill in enumerate(("#ff5f57", "#febc2e", "#28c840"))
        )
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
                f"<style>{''.join(rules)}</style>",
                "<defs>",
                *(f'<g id="{name}">{line}</g>' for line, name in self.lines.items()),
                "</defs>",
                f'<rect width="{width}" height="{height}" rx="8" fill="{ground}" stroke="{EDGE}"/>',
                f'{dots}<text x="50%" y="19" text-anchor="middle" fill="{DIM}">reviewdesk</text>',
                body,
                "</svg>\n",
            ]
        )


def _px(units: str | float) -> int:
    """Return a place across that Textual gave, in pixels of ours."""
    return round(float(units) * SCALE)


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join spans that touch: between two areas of one colour a browser may show a seam."""
    joined: list[tuple[int, int]] = []
    for left, right in spans:
        start = joined.pop()[0] if joined and joined[-1][1] == left else left
        joined.append((start, right))
    return joined


def still(shot: str, size: tuple[int, int], ground: str = GROUND) -> str:
    """Return the picture of one screen, on the colour of its theme's ground."""
    sheet = Sheet()
    body = f'<g transform="translate({MARGIN} {BAR})">{sheet.screen(shot)}</g>'
    return sheet.document(size, body, ground=ground)


def film(frames: Sequence[Frame], size: tuple[int, int]) -> str:
    """Return the picture of screens that follow each other for ever, with a caption below each.

    The frames stand in a strip that is moved by whole frames; who asks for less motion sees the
    first one.
    """
    sheet = Sheet()
    tall = size[1] * LINE + CAPTION
    strip = "\n".join(
        f'<g transform="translate(0 {at * tall})">'
        f"{sheet.screen(frame.shot)}{_caption(frame, size)}</g>"
        for at, frame in enumerate(frames)
    )
    css = (
        f".strip{{animation:play {sum(f.seconds for f in frames):g}s step-end infinite}}"
        f"@keyframes play{{{_keyframes([f.seconds for f in frames], tall)}}}"
        "@media(prefers-reduced-motion:reduce){.strip{animation:none}}"
    )
    body = (
        f'<svg x="{MARGIN}" y="{BAR}" width="{size[0] * CELL}" height="{tall}">'
        f'<g class="strip">\n{strip}\n</g></svg>'
    )
    return sheet.document(size, body, css=css, foot=CAPTION)


def _keyframes(seconds: Iterable[float], tall: int) -> str:
    """Return the moment of each frame, in percent, with the place of the strip from then on."""
    ends = list(accumulate(seconds))
    starts = [0.0, *ends[:-1]]
    return "".join(
        f"{100 * start / ends[-1]:.2f}%{{transform:translateY({-at * tall}px)}}"
        for at, start in enumerate(starts)
    )


def _caption(frame: Frame, size: tuple[int, int]) -> str:
    """Return the line below a screen: the key as a key, and what is said of it."""
    top = size[1] * LINE
    parts = [f'<path fill="{EDGE}" d="M0 {top + 5}h{size[0] * CELL}v1H0z"/>']
    x = CELL
    if frame.key:
        wide = (len(frame.key) + 2) * CELL
        parts.append(
            f'<rect x="{x}" y="{top + 9}" width="{wide}" height="23" rx="5" fill="{BRIGHT}"/>'
            f'<text x="{x + CELL}" y="{top + 25}" fill="{GROUND}">{html.escape(frame.key)}</text>'
        )
        x += wide + CELL
    caption = html.escape(frame.caption)
    parts.append(f'<text x="{x}" y="{top + 25}" fill="{BRIGHT}">{caption}</text>')
    return "".join(parts)
