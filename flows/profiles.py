"""Profiles: settings that go together, under one name. A profile gives way to any setting of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic.fields import FieldInfo
from pydantic_settings import PydanticBaseSettingsSource

from pickysteve.errors import SettingsInvalid
from pickysteve.tasks.engines.cross_encoder import BGE_BASE

__all__ = ["PROFILES", "ProfileName", "ProfileSource", "profile_of"]

ProfileName = Literal["embedded", "local", "hosted"]

PROFILES: Mapping[str, Mapping[str, Any]] = {
    "embedded": {},
    "local": {"llm": {"provider": "ollama"}, "rerank": {"model": BGE_BASE}},
    "hosted": {"llm": {"provider": "openai"}},
}


def profile_of(values: Mapping[str, Any]) -> str:
    """The profile that is chosen in these settings; an unknown one is refused where settings are built."""
    return str(values.get("profile", "embedded"))


class ProfileSource(PydanticBaseSettingsSource):
    """The settings of the chosen profile, below those of every other source."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Unused: a profile is read as a whole."""
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        """The profile's settings; raises SettingsInvalid for a model that no kind of host is named for."""
        chosen = profile_of(self.current_state)
        llm = self.current_state.get("llm")
        given = llm if isinstance(llm, Mapping) else {}
        unused = [name for name in ("model", "base_url") if given.get(name)]
        if unused and "provider" not in given and chosen == "embedded":
            raise SettingsInvalid(
                f"llm.{unused[0]} is set, and the profile embedded asks no model: set PS_PROFILE to local "
                "(Ollama) or to hosted (any OpenAI-compatible host), or PS_LLM__PROVIDER."
            )
        return dict(PROFILES.get(chosen, {}))
