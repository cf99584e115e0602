"""What runs: one file per flow. `pick` is the Python interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pickysteve.flows.service import PickService, pick

__all__ = ["PickService", "pick"]


def __getattr__(name: str) -> Any:
    """Load the service when it is first asked for: most modules here need none of it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pickysteve.flows import service

    return getattr(service, name)
