"""Other people's words, made plain: as names of a-z, 0-9 and hyphens, and as part of a sentence of ours."""

from __future__ import annotations

import re

__all__ = ["free_slug", "plain_slug", "plain_words"]


def plain_slug(text: str, *, otherwise: str, longest: int = 60) -> str:
    """Lower case, everything else a hyphen; `otherwise` where nothing is left."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:longest].strip("-") or otherwise


def free_slug(slug: str, taken: set[str]) -> str:
    """The slug, with a number where it is taken; it is taken from now on."""
    number, free = 2, slug
    while free in taken:
        number, free = number + 1, f"{slug}-{number}"
    taken.add(free)
    return free


def plain_words(text: str, longest: int) -> str:
    """On one line, and without what would move a terminal's cursor or recolour it."""
    line = " ".join(text.split())[:longest]
    return "".join(character if character.isprintable() else "?" for character in line)
