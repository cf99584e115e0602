"""Execute: hand the bundle to a model, where one is configured. The embedded profile has none."""

from __future__ import annotations

from pickysteve.tasks.stage import StageConfig, stage
from pickysteve.tasks.values import Bundle, Execution, Pick

__all__ = ["ExecuteConfig", "execute", "hand_over"]


class ExecuteConfig(StageConfig):
    """The embedded profile has no executor, so there is nothing to set."""


def hand_over(pick: Pick, bundle: Bundle, config: ExecuteConfig) -> Execution:
    """Nothing is executed: the bundle goes to the caller as it is."""
    return Execution(state="off")


execute = stage("execute", hand_over, cached=False)
