"""Enrichment: what a model wrote for each skill, kept by the skill's content and taken up at every ingest.

    <data>/enriched/<registry>/<content>.json     one file a skill; the registry itself is not touched

A file is written as soon as its skill is done, so that an interrupted run goes on where it stopped. A skill
whose text changed is another content: what was written for the old one is not used any more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from platformdirs import user_data_path
from pydantic import ValidationError

from pickysteve.errors import ModelUnavailable, SettingsInvalid
from pickysteve.flows.scanning import Progress, quiet
from pickysteve.registry.catalogue import Catalogue
from pickysteve.registry.models import Example, Skill, Unit
from pickysteve.tasks.engines.embedder import Embedder
from pickysteve.tasks.engines.guard import Guard
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.enrich import EnrichConfig, Enrichment, Screened, screen_enrichment
from pickysteve.tasks.gate_config import GateConfig
from pickysteve.tasks.roles import REMINDER, Role
from pickysteve.tasks.values import Spent

__all__ = [
    "EnrichReport",
    "Enriched",
    "apply_enriched",
    "enrich_registry",
    "enriched_folder",
    "read_enriched",
]

GIVEN_UP_AFTER = 5
"""Skills in a row for which the model failed."""
HOPELESS = {"refused", "key", "missing"}
"""Faults that the next skill would meet too."""


class Enriched(Screened):
    """What is kept of one skill's enrichment."""

    skill_id: str
    content_sha256: str
    model: str
    made_by: str
    """Fingerprint of model and prompt."""
    written_at: str
    spent: tuple[Spent, ...] = ()


@dataclass
class EnrichReport:
    """What a run did."""

    written: list[Enriched] = field(default_factory=list)
    known: int = 0
    """Skills whose text, model and prompt are those of an earlier run."""
    failed: dict[str, str] = field(default_factory=dict)
    """Skills for which the model gave no usable answer, and why."""

    @property
    def spent(self) -> tuple[Spent, ...]:
        """All calls."""
        return tuple(spent for one in self.written for spent in one.spent)


def enriched_folder(registry: Path) -> Path:
    """One folder for each registry, found by its path."""
    name = sha256(str(registry.resolve()).encode()).hexdigest()[:16]
    return user_data_path("pickysteve") / "enriched" / name


def content_digest(skill: Skill, units: Mapping[str, Unit]) -> str:
    """SHA-256 over the texts of a skill's units."""
    texts = [units[unit_id].text for unit_id in skill.unit_ids]
    return sha256(json.dumps(texts).encode()).hexdigest()


def read_enriched(registry: Path) -> dict[str, Enriched]:
    """What is kept, by content; raises SettingsInvalid for a file that was damaged."""
    found = {}
    for path in sorted(enriched_folder(registry).glob("*.json")):
        try:
            one = Enriched.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            raise SettingsInvalid(f'"{path}" is damaged: delete it, and run "pickysteve enrich".') from error
        found[one.content_sha256] = one
    return found


def apply_enriched(registry: Path, catalogue: Catalogue) -> None:
    """Add to each skill what was written for its present text. The author's own words come first.

    The gate scans all of it at ingest, like any other text of the registry.
    """
    kept = read_enriched(registry)
    if not kept:
        return
    for skill_id, skill in catalogue.skills.items():
        one = kept.get(content_digest(skill, catalogue.units))
        if one is None:
            continue
        own = {example.text for example in skill.examples}
        added = tuple(
            Example(skill_id=skill_id, text=written.text, origin=one.model)
            for written in one.examples
            if written.text not in own
        )
        update = {"examples": skill.examples + added, "summary": one.summary}
        catalogue.skills[skill_id] = skill.model_copy(
            update=update | ({} if skill.not_for else {"not_for": one.not_for})
        )


def enrich_registry(
    registry: Path,
    index: SearchIndex,
    *,
    encoder: Embedder,
    guard: Guard,
    role: Role,
    gate: GateConfig,
    config: EnrichConfig,
    skills: Iterable[str] = (),
    limit: int | None = None,
    again: bool = False,
    progress: Progress = quiet,
    tell: Callable[[Enriched], None] = lambda one: None,
) -> EnrichReport:
    """Have the model write for every skill that has nothing of this model and prompt yet.

    `skills` are the wanted ones, by default all; `limit` ends after so many. Raises SettingsInvalid where
    no model is set, and ModelUnavailable when the model cannot be reached or fails again and again.
    """
    if role.model is None:
        raise SettingsInvalid(
            'Enrichment needs a model: run "pickysteve setup", or set PS_PROFILE and PS_LLM__MODEL.'
        )
    kept, report = read_enriched(registry), EnrichReport()
    wanted = list(skills) or [skill_id for skill_id in index.skills if index.allowed_units(skill_id)]
    todo = []
    for skill_id in wanted:
        digest = content_digest(index.skills[skill_id], index.data.units)
        known = kept.get(digest)
        if known and known.made_by == role.fingerprint and not again:
            report.known += 1
        else:
            earlier = {written.text for written in known.examples} if known else set()
            todo.append((skill_id, digest, earlier))
    row = 0
    for done, (skill_id, digest, earlier) in enumerate(todo[:limit]):
        progress("enriching", done, len(todo[:limit]))
        try:
            one = _enrich(skill_id, digest, earlier, index, encoder, guard, role, gate, config)
        except ModelUnavailable as failed:
            report.failed[skill_id], row = str(failed), row + 1
            if failed.fault in HOPELESS or row >= GIVEN_UP_AFTER:
                raise
            continue
        row = 0
        _keep(registry, one)
        report.written.append(one)
        tell(one)
    progress("enriching", len(todo[:limit]), len(todo[:limit]))
    return report


def _enrich(
    skill_id: str,
    digest: str,
    earlier: Collection[str],
    index: SearchIndex,
    encoder: Embedder,
    guard: Guard,
    role: Role,
    gate: GateConfig,
    config: EnrichConfig,
) -> Enriched:
    units = [index.unit(unit_id) for unit_id in index.allowed_units(skill_id)]
    text = "\n\n".join(f"{unit.title}\n{unit.description}\n{unit.body}" for unit in units)
    reply = role.ask({f"skill {skill_id}": text[: config.skill_characters]}, Enrichment)
    # what an earlier run wrote is not held against the new one
    skill = index.skills[skill_id]
    own = tuple(example for example in skill.examples if example.text not in earlier)
    screened = screen_enrichment(
        reply.answer,
        skill.model_copy(update={"examples": own}),
        index,
        encoder,
        guard,
        gate,
        config,
        told=f"{role.prompt}\n{REMINDER}",
    )
    return Enriched(
        **dict(screened),
        skill_id=skill_id,
        content_sha256=digest,
        model=role.model_name,
        made_by=role.fingerprint,
        written_at=datetime.now(UTC).isoformat(timespec="seconds"),
        spent=role.spent(reply.usage),
    )


def _keep(registry: Path, one: Enriched) -> None:
    folder = enriched_folder(registry)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{one.content_sha256[:32]}.json"
    draft = path.with_suffix(".draft")
    draft.write_text(one.model_dump_json(indent=1) + "\n", encoding="utf-8")
    draft.replace(path)
