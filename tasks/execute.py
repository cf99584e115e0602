"""Execute: hand request and bundle to a model, where one is named for it. The embedded profile has none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pickysteve.errors import ModelUnavailable
from pickysteve.tasks.engines.llm import Message
from pickysteve.tasks.engines.redact import StreamingRedactor
from pickysteve.tasks.roles import MODEL_STAGE_SECONDS, OFF, Role
from pickysteve.tasks.stage import StageConfig, stage
from pickysteve.tasks.values import Bundle, Execution, Pick, Request

__all__ = ["ExecuteConfig", "Executor", "execute", "hand_over", "unseen"]


class ExecuteConfig(StageConfig):
    """How long an answer may be is a setting of the model's."""


def unseen(piece: str) -> None:
    """Show nothing: the whole answer stands in the record."""


@dataclass(frozen=True)
class Executor:
    """The model that answers, and where its answer is shown as it comes."""

    role: Role = OFF
    show: Callable[[str], None] = unseen

    @property
    def fingerprint(self) -> str:
        """That of the role."""
        return self.role.fingerprint


def hand_over(
    request: Request, pick: Pick, bundle: Bundle, executor: Executor, config: ExecuteConfig
) -> Execution:
    """Answer with the bundle. Without an executor, or without a pick, nobody answers.

    A failure is a state, with what had come by then: the bundle stays.
    """
    role = executor.role
    if role.model is None or pick.status != "ok" or not bundle.text:
        return Execution(state="off")
    redactor, pieces = StreamingRedactor(), list[str]()

    def give_on(piece: str) -> None:
        if piece:
            pieces.append(piece)
            executor.show(piece)

    messages = (Message("system", role.prompt), Message("user", f"{request.text}\n\n{bundle.text}"))
    try:
        _, usage = role.model.stream(messages, lambda piece: give_on(redactor.feed(piece)))
    except ModelUnavailable as failed:
        give_on(redactor.close())
        return Execution(state="failed", answer="".join(pieces), degraded=f"no whole answer: {failed}")
    give_on(redactor.close())
    return Execution(state="done", answer="".join(pieces), spent=role.spent(usage))


execute = stage("execute", hand_over, cached=False, timeout_seconds=10 * MODEL_STAGE_SECONDS)
