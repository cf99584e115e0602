"""Datamarking: a mark before every gap between words shows a model what is data, wherever it looks.

Spotlighting by datamarking (Hines et al. 2024, "Defending Against Indirect Prompt Injection Attacks
With Spotlighting", section 3.2) puts the mark in the place of the white space. Here it stands before it,
so that taking the mark out gives the text back, indentation of code included.
"""

from __future__ import annotations

import re
import secrets

from pickysteve.errors import PickyError

__all__ = ["MARKS", "choose_mark", "datamark", "without_mark"]

MARKS = "^\u02c6\u00a4\u00a7\u00ac\u00b0\u00b6\u2020\u2021"
"""Rare, visible, a token or two each, and nothing that folding takes for a part of a marker."""
PRIVATE_USE = (range(0xE000, 0xF900), range(0xF0000, 0xFFFFE), range(0x100000, 0x10FFFE))

# Scripts without spaces are marked after their punctuation; the invisible ones part words as a space does.
GAP = re.compile(r"[\s\u200b\u2060\u3164\ufeff]+|(?<=[\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f])(?=\S)")


def choose_mark(text: str) -> str:
    """A character that does not occur in the text, new for each call.

    Whoever writes the text cannot use the mark in it: if they guess it, another one is chosen.
    """
    used = set(text)
    free = [mark for mark in MARKS if mark not in used]
    if not free:
        free = [chr(code) for codes in PRIVATE_USE for code in codes if chr(code) not in used]
    if not free:
        raise PickyError("The text uses every character that could mark it: set PS_ASSEMBLE__BOUNDARY=nonce.")
    return secrets.choice(free)


def datamark(text: str, mark: str) -> str:
    """The text with the mark before each gap between words; the mark must not occur in it."""
    return GAP.sub(lambda gap: mark + gap[0], text)


def without_mark(text: str, mark: str) -> str:
    """What was marked, as it was."""
    return text.replace(mark, "") if mark else text
