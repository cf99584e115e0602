"""Language models behind one small protocol: messages and a schema in, a validated value out.

This module knows no host. Importing it, or having a model configured and not asked, loads neither
openai nor ollama.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    HttpUrl,
    SecretStr,
    TypeAdapter,
    field_validator,
    model_validator,
)

__all__ = [
    "BASE_URLS",
    "LONGEST_ANSWER_SECONDS",
    "ChatModel",
    "KeyStore",
    "LlmConfig",
    "Message",
    "Price",
    "Provider",
    "Reply",
    "RoleModels",
    "RoleName",
    "Usage",
    "chat_model",
]

Provider = Literal["none", "openai", "ollama"]
RoleName = Literal[
    "adjudicator",
    "auditor",
    "router",
    "judge",
    "escalation",
    "compat",
    "clarifier",
    "executor",
    "enricher",
]
KeyStore = Literal["", "file", "keyring"]
LONGEST_ANSWER_SECONDS = 300
NO_MODEL = "off"
"""The model name that switches a role off."""
BY_NAME = frozenset({"auditor", "escalation", "executor"})
"""Roles that want a model of their own: a library takes hours to read, a second opinion is another model's,
and an answer is no pick."""
BASE_URLS = {"openai": "https://api.openai.com/v1", "ollama": "http://127.0.0.1:11434"}

Answer = TypeVar("Answer", bound=BaseModel)


class _Config(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Price(_Config):
    """What a million tokens cost, in whatever currency the host bills."""

    prompt: float = Field(ge=0)
    answer: float = Field(ge=0)


class RoleModels(_Config):
    """A model of its own for each role; empty means that of all roles, and "off" means none."""

    adjudicator: str = Field("", description="decides on requests just above the gate's threshold")
    auditor: str = Field(
        "", description="reads every document at ingest; without a model named here, nobody does"
    )
    router: str = Field("", description="turns a request into search queries")
    judge: str = Field("", description="picks among the candidates")
    escalation: str = Field(
        "", description="stronger judge for pools that are easily confused; without one named here, nobody"
    )
    compat: str = Field("", description="says whether two picks fit together")
    clarifier: str = Field("", description="asks one question when nothing fits")
    executor: str = Field(
        "", description="answers the request with the bundle; without a model named here, nobody does"
    )
    enricher: str = Field("", description="writes example requests, when that is asked for")


class LlmConfig(_Config):
    """Which models are asked, and where. The default asks none."""

    provider: Provider = Field("none", description="kind of host")
    base_url: str = Field("", description="the host's address; by default that of the provider")
    model: str = Field("", description="model of every role that names none of its own")
    api_key: SecretStr = Field(SecretStr(""), description="the host's key, where it wants one")
    key_store: KeyStore = Field("", description="where setup keeps the key of this address")
    timeout_seconds: float = Field(
        20, gt=0, le=LONGEST_ANSWER_SECONDS, description="for one answer, retries included"
    )
    max_answer_tokens: int = Field(2_000, gt=0, description="longest answer that is asked for")
    max_answer_bytes: int = Field(1_000_000, gt=0, description="longest response that is read")
    context_tokens: int = Field(16_384, gt=0, description="context that Ollama opens the model with")
    deterministic: bool = Field(
        True, description="send temperature 0 and a seed; false for hosts that refuse them"
    )
    prices: dict[str, Price] = Field({}, description="by model, per million tokens; without one no cost")
    roles: RoleModels = RoleModels()

    @field_validator("base_url")
    @classmethod
    def _is_plain_address(cls, url: str) -> str:
        if url and TypeAdapter(HttpUrl).validate_python(url).username is not None:
            raise ValueError("an address holds no key: set PS_LLM__API_KEY")
        return url.rstrip("/")

    @field_validator("api_key")
    @classmethod
    def _fits_a_header(cls, key: SecretStr) -> SecretStr:
        plain = key.get_secret_value().strip()
        if not all("!" <= character <= "~" for character in plain):
            raise ValueError("a key is printable ASCII without spaces")
        return SecretStr(plain)

    @model_validator(mode="after")
    def _has_a_model(self) -> Self:
        if self.provider != "none" and not self.model and not any(self.roles.model_dump().values()):
            raise ValueError("a provider needs a model: set PS_LLM__MODEL, or run pickysteve setup")
        return self

    @property
    def address(self) -> str:
        """The base URL that is called."""
        return self.base_url or BASE_URLS.get(self.provider, "")

    def model_of(self, role: RoleName) -> str:
        """The model of a role; empty when the role has none."""
        if self.provider == "none":
            return ""
        model: str = getattr(self.roles, role) or ("" if role in BY_NAME else self.model)
        return "" if model.lower() == NO_MODEL else model


@dataclass(frozen=True)
class Message:
    """One turn of a chat."""

    role: Literal["system", "user"]
    content: str


@dataclass(frozen=True)
class Usage:
    """What a call took. Hosts that count no tokens leave zeros."""

    prompt_tokens: int = 0
    answer_tokens: int = 0
    cost: float | None = None
    """In the currency of the configured prices; None where the model has no price."""


@dataclass(frozen=True)
class Reply(Generic[Answer]):
    """A validated answer."""

    answer: Answer
    usage: Usage
    repaired: bool = False
    """The JSON stood inside something else and had to be taken out."""


class ChatModel(Protocol):
    """A model that answers in the form that it is asked for."""

    @property
    def name(self) -> str:
        """What the host calls it."""

    @property
    def fingerprint(self) -> str:
        """Of host kind, model and options: changes whenever an answer could, and holds no secret."""

    def chat(
        self, messages: Sequence[Message], answer: type[Answer], *, exact: bool = False
    ) -> Reply[Answer]:
        """Ask once. With `exact` the answer must be the JSON alone: nothing is taken out of prose.

        Raises ModelUnavailable, which names the fault and its remedy.
        """

    def stream(self, messages: Sequence[Message], show: Callable[[str], None]) -> tuple[str, Usage]:
        """Ask for free text, and show it piece by piece; returns the whole.

        The timeout counts anew after each piece. Raises ModelUnavailable, also after some was shown.
        """


def chat_model(config: LlmConfig, role: RoleName) -> ChatModel | None:
    """The model of a role, or None where the role is off. Nothing connects before the first call."""
    from pickysteve.tasks.engines.llm_host import HostedModel

    model = config.model_of(role)
    return HostedModel(config, model) if model else None
