"""What the filters of the output share: a stream in, a stream out, labels for what was taken out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter

__all__ = ["StreamFilter"]


class StreamFilter(ABC):
    """Takes text in chunks. What comes out does not depend on where the chunks were cut."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()
        """How often each kind was taken out."""

    @abstractmethod
    def feed(self, text: str) -> str:
        """All that is certain after this chunk."""

    @abstractmethod
    def close(self) -> str:
        """The rest, when nothing more comes."""

    def redacted(self, kind: str) -> str:
        """The label that stands for something of this kind."""
        self.found[kind] += 1
        return f"[redacted: {kind}]"
