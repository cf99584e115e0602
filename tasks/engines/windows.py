"""Windows: where a long text is cut, so that the model reads each piece whole and every character twice."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["WINDOW_CHARACTERS", "WINDOW_TOKENS", "window_bounds"]

# With the two of the model they fill a row of 128; longer windows pad to 256 and soften what they hold.
WINDOW_TOKENS = 118
WINDOW_CHARACTERS = 1_200


def window_bounds(offsets: list[tuple[int, int]], length: int) -> Iterator[tuple[int, int]]:
    """Half-open spans that cover [0, length) with a quarter of overlap.

    Args:
        offsets: start and end of each token, in characters.
        length: characters of the text.
    """
    stride = WINDOW_TOKENS * 3 // 4
    starts = range(0, max(len(offsets) - WINDOW_TOKENS + stride, 1), stride)
    for first in starts:
        begin = offsets[first][0] if first else 0
        last = first + WINDOW_TOKENS
        end = offsets[last][0] if last < len(offsets) else length
        yield from _character_bounds(begin, end)


def _character_bounds(begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a span that holds few tokens and many characters."""
    stride = WINDOW_CHARACTERS * 3 // 4
    for start in range(begin, max(end - WINDOW_CHARACTERS + stride, begin + 1), stride):
        yield start, min(start + WINDOW_CHARACTERS, end)
