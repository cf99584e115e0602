"""Setup: find models, try one with a real call, and save what is needed to ask it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Literal

import httpx
import httpx2
from pydantic import SecretStr, ValidationError

from pickysteve.errors import SettingsInvalid
from pickysteve.flows.keys import store_key
from pickysteve.flows.settings import PREFIX, config_file
from pickysteve.registry.models import Value
from pickysteve.tasks.engines.cross_encoder import BGE_BASE
from pickysteve.tasks.engines.llm import BASE_URLS, KeyStore, LlmConfig, Message, Usage, chat_model

__all__ = [
    "Choice",
    "Place",
    "Trial",
    "find_places",
    "models_of",
    "next_steps",
    "ollama_address",
    "save",
    "try_model",
]

OLLAMA_PORT = 11434
LOOK_SECONDS = 3.0
TRY_SECONDS = 120.0
"""A local model may have to load first."""


@dataclass(frozen=True)
class Place:
    """Where models may be asked."""

    name: str
    profile: Literal["local", "hosted"]
    base_url: str = ""
    models: tuple[str, ...] = ()
    variable: str = ""
    """The variable of the environment that holds its key; empty for one that needs none."""


HOSTS = (
    Place("OpenAI", "hosted", "", (), "OPENAI_API_KEY"),
    Place("Anthropic", "hosted", "https://api.anthropic.com/v1", (), "ANTHROPIC_API_KEY"),
    Place(
        "Google", "hosted", "https://generativelanguage.googleapis.com/v1beta/openai", (), "GEMINI_API_KEY"
    ),
    Place("OpenRouter", "hosted", "https://openrouter.ai/api/v1", (), "OPENROUTER_API_KEY"),
)


@dataclass(frozen=True)
class Choice:
    """What shall be saved."""

    profile: Literal["embedded", "local", "hosted"]
    base_url: str = ""
    model: str = ""
    key: SecretStr = field(default_factory=lambda: SecretStr(""))
    store: KeyStore = ""
    reranker: str | None = None
    """A cross-encoder, or empty for the embedded reranker; None leaves it to the profile."""

    @property
    def llm(self) -> LlmConfig:
        """The settings of its models; raises SettingsInvalid for what does not fit."""
        providers = {"embedded": "none", "local": "ollama", "hosted": "openai"}
        given = {"provider": providers[self.profile], "base_url": self.base_url, "model": self.model}
        try:
            return LlmConfig.model_validate(given | {"api_key": self.key, "timeout_seconds": TRY_SECONDS})
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            said = first["msg"].removeprefix("Value error, ")
            name = ".".join(str(part) for part in first["loc"])
            raise SettingsInvalid(f"{name or 'model'}: {said}; nothing was saved.") from error


class _Ready(Value):
    """What the trial asks for."""

    word: Literal["ready"]


@dataclass(frozen=True)
class Trial:
    """A real call that was answered."""

    seconds: float
    usage: Usage


def find_places(environment: Mapping[str, str]) -> tuple[Place, ...]:
    """An Ollama that answers, with its models, then the hosts whose key variable is set."""
    address = ollama_address(environment.get("OLLAMA_HOST", ""))
    models = _ollama_models(address or BASE_URLS["ollama"])
    running = (Place("Ollama", "local", address, models),) if models is not None else ()
    return (*running, *(host for host in HOSTS if environment.get(host.variable)))


def ollama_address(host: str) -> str:
    """The variable as a URL: Ollama takes a bare host, and its own port where none is named."""
    if not host or "://" in host:
        return host
    named = host.rpartition("]")[2] if "]" in host else host
    return f"http://{host}" if ":" in named else f"http://{host}:{OLLAMA_PORT}"


def _ollama_models(address: str) -> tuple[str, ...] | None:
    """The names of its models; None when nobody answers there."""
    import ollama

    try:
        with ollama.Client(address, timeout=LOOK_SECONDS, follow_redirects=False) as client:
            return tuple(model.model for model in client.list().models if model.model)
    except (ConnectionError, httpx.HTTPError, ollama.ResponseError, ValueError):
        return None


def models_of(place: Place, key: SecretStr) -> tuple[str, ...]:
    """What a host says it serves; empty where it does not tell."""
    if place.models or place.profile == "local":
        return place.models
    import openai

    try:
        with openai.OpenAI(
            api_key=key.get_secret_value() or "none",
            base_url=place.base_url or BASE_URLS["openai"],
            timeout=LOOK_SECONDS * 3,
            max_retries=0,
            http_client=openai.DefaultHttpxClient(follow_redirects=False),
        ) as client:
            return tuple(sorted(model.id for model in client.models.list().data))
    except (openai.APIError, httpx2.HTTPError, ValueError, TypeError, AttributeError):
        return ()


def try_model(choice: Choice) -> Trial:
    """Ask the model for one word in a given form; raises ModelUnavailable, which names fault and remedy."""
    model = chat_model(choice.llm, "judge")
    if model is None:
        raise SettingsInvalid("The profile embedded asks no model: there is nothing to try.")
    started = time.perf_counter()
    asked = (
        Message("system", 'Answer with one JSON object: {"word": "ready"}'),
        Message("user", "Are you ready?"),
    )
    usage = model.chat(asked, _Ready).usage
    return Trial(time.perf_counter() - started, usage)


def save(choice: Choice) -> tuple[str, ...]:
    """Write the settings file, and the key where it is to be kept; returns a sentence for each.

    What else stands in the file stays, comments too. Raises SettingsInvalid for a file that cannot be read.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    llm, path, said = choice.llm, config_file(), []
    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8")) if path.is_file() else tomlkit.document()
    except (OSError, UnicodeDecodeError, TOMLKitError) as error:
        raise SettingsInvalid(f'The settings file "{path}" cannot be read: correct it.') from error
    key = choice.key.get_secret_value()
    if key and choice.store:
        said.append(f"The key is in {store_key(llm.address, key, choice.store)}.")
    section = document.setdefault("llm", tomlkit.table())
    section.pop("provider", None)  # the profile says it
    values = {"model": choice.model, "base_url": choice.base_url, "key_store": choice.store if key else ""}
    for name, value in values.items():
        section.pop(name, None)
        if value:
            section[name] = value
    if not section:
        document.pop("llm")
    document["profile"] = choice.profile
    if choice.reranker is not None:
        document.setdefault("rerank", tomlkit.table())["model"] = choice.reranker
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.write_text(tomlkit.dumps(document), encoding="utf-8")
    draft.replace(path)
    return (f"The settings are in {path}.", *said, *_overruled())


def _overruled() -> tuple[str, ...]:
    """Variables that win over what was saved."""
    names = (
        "PROFILE",
        "LLM__PROVIDER",
        "LLM__MODEL",
        "LLM__BASE_URL",
        "LLM__API_KEY",
        "RERANK__MODEL",
        "LLM",
    )
    present = [f"{PREFIX}{name}" for name in names if os.environ.get(f"{PREFIX}{name}")]
    return (f"{', '.join(present)} is set and wins over the file: unset it.",) if present else ()


def next_steps(choice: Choice) -> tuple[str, ...]:
    """What to calibrate and to measure with the new models."""
    steps = []
    reranker = choice.reranker if choice.reranker is not None else {"local": BGE_BASE}.get(choice.profile, "")
    if reranker:
        steps.append(
            f'The reranker {reranker} has no floor yet: run "pickysteve calibrate" in a checkout, or '
            '"pickysteve calibrate --registry DIR --suite FILE" on requests of your own. Until then a pick '
            "needs --allow-uncalibrated."
        )
        if find_spec("FlagEmbedding") is None:
            steps.append("It needs FlagEmbedding: run \"pip install 'pickysteve[local]'\".")
    if choice.profile != "embedded":
        steps.append(
            'What the model adds on your registry: run "pickysteve eval --suite FILE --out DIR" with it, '
            "and once more with --profile embedded."
        )
        steps.append('Example requests for skills that have none: run "pickysteve enrich".')
    return tuple(steps)
