"""The settings as they are, each with where it comes from; secrets are masked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic_settings import EnvSettingsSource, TomlConfigSettingsSource

from pickysteve.flows.keys import key_file
from pickysteve.flows.profiles import PROFILES
from pickysteve.flows.settings import DELIMITER, PREFIX, Settings, config_file, load_settings
from pickysteve.registry.models import Value

__all__ = ["SettingRow", "config_rows"]


class SettingRow(Value):
    """One setting."""

    name: str
    """Dotted, as in the file: "llm.model"."""
    value: Any
    """As JSON; of a secret only that there is one."""
    origin: str
    """ "default", "profile NAME", the file's path, the variable's name, or "command line"."""


def config_rows(**given: Any) -> tuple[SettingRow, ...]:
    """Every setting in the order of the settings; raises SettingsInvalid as load_settings does."""
    settings = load_settings(**given)
    kept = "keyring" if settings.llm.key_store == "keyring" else str(key_file())
    layers = {
        "command line": {name: value for name, value in given.items() if value is not None},
        "environment": EnvSettingsSource(Settings)(),
        str(config_file()): TomlConfigSettingsSource(Settings, config_file())(),
        f"profile {settings.profile}": PROFILES[settings.profile],
        kept: {"llm": {"api_key": ""}} if settings.llm.key_store else {},
    }
    values = settings.model_dump(mode="json")
    return tuple(
        SettingRow(name=".".join(path), value=_at(values, path), origin=_origin(path, layers))
        for path in _leaves(Settings)
    )


def _leaves(model: type[BaseModel], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _leaves(field.annotation, (*above, name))
        else:
            yield (*above, name)


def _at(values: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        values = values[name]
    return values


def _origin(path: tuple[str, ...], layers: Mapping[str, Mapping[str, Any]]) -> str:
    """The first layer that sets it; of the environment, the variable."""
    origin = next((name for name, layer in layers.items() if _is_set(layer, path)), "default")
    return _variable(path) if origin == "environment" else origin


def _is_set(values: Any, path: tuple[str, ...]) -> bool:
    for name in path:
        if not isinstance(values, Mapping) or name not in values:
            return False
        values = values[name]
    return True


def _variable(path: tuple[str, ...]) -> str:
    """The variable of the setting itself, or of the section that it stands in as JSON."""
    names = [f"{PREFIX}{DELIMITER.join(path[:length])}".upper() for length in range(len(path), 0, -1)]
    present = {name.upper() for name in os.environ}
    return next((name for name in names if name in present), "environment")
