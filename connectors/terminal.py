"""Text from outside on a terminal."""

from __future__ import annotations

__all__ = ["visible"]


def visible(text: str) -> str:
    """The text on one line: what would move the cursor, recolour or hide is shown as its escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
