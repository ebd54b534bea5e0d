"""Whether a colour can be read on another, and what to make of one that cannot."""

from __future__ import annotations

from collections.abc import Sequence

from textual.color import BLACK, WHITE, Color

_STEPS = 10


def contrast(one: Color, other: Color) -> float:
    """The contrast ratio of two colours by WCAG 2, from 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in colour.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def legible(ink: Color, grounds: Sequence[Color], least: float) -> Color:
    """The ink, moved towards white or black as far as it takes to read on every ground.

    A colour of the terminal's own stays: nobody knows what it looks like.
    """
    if not grounds or ink.ansi is not None:
        return ink
    far = max((WHITE, BLACK), key=lambda end: min(contrast(end, ground) for ground in grounds))
    tries = (ink.blend(far, step / _STEPS) for step in range(_STEPS))
    return next((c for c in tries if all(contrast(c, g) >= least for g in grounds)), far)
