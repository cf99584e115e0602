"""Settings: the stages' configs composed, read once from defaults, a TOML file and PS_* variables."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path, user_config_path, user_data_path
from pydantic import BaseModel, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from pickysteve.errors import SettingsInvalid
from pickysteve.flows.keys import KeySource
from pickysteve.flows.profiles import ProfileName, ProfileSource
from pickysteve.flows.serving import ProxyConfig, ServeConfig
from pickysteve.tasks.assemble import AssembleConfig
from pickysteve.tasks.compat import CompatConfig
from pickysteve.tasks.engines.embedder import EmbedConfig
from pickysteve.tasks.engines.llm import LlmConfig
from pickysteve.tasks.enrich import EnrichConfig
from pickysteve.tasks.execute import ExecuteConfig
from pickysteve.tasks.floor import FloorConfig
from pickysteve.tasks.gate import GateConfig
from pickysteve.tasks.judge import JudgeConfig
from pickysteve.tasks.knowledge import KnowledgeConfig
from pickysteve.tasks.log import LogConfig
from pickysteve.tasks.rerank import RerankConfig
from pickysteve.tasks.retrieve import RetrieveConfig
from pickysteve.tasks.route import RouteConfig

__all__ = ["DELIMITER", "PREFIX", "Settings", "built_in_registry", "config_file", "load_settings"]

PREFIX = "PS_"
DELIMITER = "__"
NOT_SETTINGS = {"PS_SEAL_KEY"}


def config_file() -> Path:
    """Where the settings file may be."""
    return user_config_path("pickysteve") / "config.toml"


def built_in_registry() -> Path:
    """The skills that come with PickySteve: beside the code, in a checkout as in a wheel."""
    from importlib.util import find_spec

    spec = find_spec("pickysteve.registry")
    origin = spec.origin if spec else None
    return Path(origin or __file__).resolve().parent / "skills"


class Settings(BaseSettings):
    """Everything that can be set. Frozen; built once at the entry point and passed down."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter=DELIMITER,
        frozen=True,
        extra="forbid",
        nested_model_default_partial_update=True,
    )

    profile: ProfileName = Field("embedded", description="settings that go together")
    registry: Path = Field(
        default_factory=built_in_registry, description="folder of skills, document, or set of sources"
    )
    runs_dir: Path = Field(
        default_factory=lambda: user_data_path("pickysteve") / "runs", description="run records"
    )
    index_dir: Path = Field(
        default_factory=lambda: user_cache_path("pickysteve") / "index", description="indexes"
    )
    shared: str = Field(
        "", description="address of a folder that all machines share, such as s3://bucket/prefix"
    )
    calibration: Path | None = Field(None, description="fitted file of your own; none: the one that we ship")
    allow_uncalibrated: bool = Field(
        False, description="run without a calibration where it was made for other models, and say so"
    )
    exclude: tuple[str, ...] = Field((), description="skills that are never picked")
    keep_choices: bool = Field(False, description="keep a caller's choice from a shortlist as an example")
    allow_examples: bool = Field(False, description="callers over MCP may add example requests")
    engine_idle_seconds: int = Field(900, gt=0, description="the background engine stops after so long")
    embed: EmbedConfig = EmbedConfig()
    gate: GateConfig = GateConfig()
    route: RouteConfig = RouteConfig()
    retrieve: RetrieveConfig = RetrieveConfig()
    rerank: RerankConfig = RerankConfig()
    floor: FloorConfig = FloorConfig()
    knowledge: KnowledgeConfig = KnowledgeConfig()
    judge: JudgeConfig = JudgeConfig()
    compat: CompatConfig = CompatConfig()
    assemble: AssembleConfig = AssembleConfig()
    enrich: EnrichConfig = EnrichConfig()
    execute: ExecuteConfig = ExecuteConfig()
    serve: ServeConfig = ServeConfig()
    proxy: ProxyConfig = ProxyConfig()
    llm: LlmConfig = LlmConfig()

    @property
    def log(self) -> LogConfig:
        """The log's config is the runs directory."""
        return LogConfig(runs_dir=self.runs_dir)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Command line first, then the environment, the file, the profile, and the key that setup kept.

        No .env is read: nobody trusts the folder that it lies in.
        """
        file = TomlConfigSettingsSource(settings_cls, config_file())
        return init_settings, env_settings, file, ProfileSource(settings_cls), KeySource(settings_cls)


def load_settings(**given: Any) -> Settings:
    """Build the settings; raises SettingsInvalid for an unknown name or a value that does not fit."""
    known = set(_names(Settings))
    for variable in os.environ:
        name = variable.removeprefix(PREFIX).lower()
        if variable.startswith(PREFIX) and variable not in NOT_SETTINGS and name not in known:
            close = _nearest(name, known)
            hint = f"did you mean {PREFIX}{close.upper()}?" if close else "unset it."
            raise SettingsInvalid(f"There is no setting {variable}: {hint}")
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise _misfit(error, known) from error
    except SettingsError as error:
        raise SettingsInvalid(
            f"A PS_* variable cannot be read ({error}): write its value as JSON."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise SettingsInvalid(
            f'The settings file "{config_file()}" cannot be read ({error}): correct it.'
        ) from error


def _misfit(error: ValidationError, known: set[str]) -> SettingsInvalid:
    first = error.errors(include_input=False)[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        close = _nearest(name.replace(".", DELIMITER), known)
        hint = f"did you mean {close.replace(DELIMITER, '.')}?" if close else "take it out."
        return SettingsInvalid(f'There is no setting {name} (in "{config_file()}"): {hint}')
    said = first["msg"].removeprefix("Value error, ")
    return SettingsInvalid(f"The setting {name} does not fit ({said}): correct it.")


def _nearest(name: str, known: set[str]) -> str:
    return next(iter(difflib.get_close_matches(name, sorted(known), n=1)), "")


def _names(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield prefix + name
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _names(field.annotation, prefix + name + DELIMITER)
