"""The values of a registry: skills, their units, examples, verdicts and problems."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

__all__ = ["UNADJUDICATED", "Example", "Finding", "Problem", "Skill", "Unit", "Value", "Verdict"]


UNADJUDICATED = "unadjudicated:"
"""Rules that stand for a request whose adjudicator failed begin with this."""


class Value(BaseModel):
    """A frozen value that travels through flows and into Parquet."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Unit(Value):
    """One markdown file, the unit of retrieval. Several units may share a skill."""

    unit_id: str
    skill_id: str
    title: str
    description: str
    tags: tuple[str, ...] = ()
    body: str
    source: str
    """Path relative to the registry's root, with forward slashes; a part of a file stands behind a #."""
    sha256: str
    """Of the file's bytes."""
    file: str = ""
    """Where the file lies, absolute; empty when that is `source` under the registry's root."""
    indexed_at: str = ""
    """UTC, ISO 8601, to the second; empty before ingest."""
    stale: bool = False
    """The file changed or vanished since it was indexed."""

    @property
    def text(self) -> str:
        """Everything of the unit that any model may see: what the gate must scan."""
        tags = f"\n{', '.join(self.tags)}" if self.tags else ""
        return f"{self.unit_id}\n{self.title}\n{self.description}{tags}\n\n{self.body}"


class Example(Value):
    """A request that a skill is for, kept as an index entry of its own."""

    skill_id: str
    text: str
    origin: str = "author"
    """Who wrote it: "author", a model's name, "accepted" for a choice a caller made, or "user"."""


class Skill(Value):
    """What a user names and installs: one id, one or more units."""

    skill_id: str
    title: str
    description: str
    unit_ids: tuple[str, ...]
    not_for: str = ""
    summary: str = ""
    """One line that a model wrote at ingest, where that was asked for."""
    examples: tuple[Example, ...] = ()


class Finding(Value):
    """One reason for suspicion: which rule or model, where, and how strongly."""

    rule: str
    severity: Literal["info", "review", "block"]
    passage: str = ""
    """At most 200 characters of the offending text."""


class Verdict(Value):
    """What the gate says of one text. Anything but allowed=True is a refusal."""

    allowed: bool
    score: float
    """The classifier's highest window score, in [0, 1]."""
    risk: Literal["low", "review", "block"]
    findings: tuple[Finding, ...] = ()
    sha256: str
    """Of the scanned text, UTF-8."""
    fingerprint: str
    """Of the gate that judged: scanner version, model, rules, thresholds."""

    @property
    def blocking_rules(self) -> tuple[str, ...]:
        """The names of the rules that block, each once: never the passages that they found."""
        return tuple(dict.fromkeys(found.rule for found in self.findings if found.severity == "block"))

    @property
    def degraded(self) -> str:
        """Why a model that should have been heard was not; empty when it was, or when there is none."""
        failed = (finding for finding in self.findings if finding.rule.startswith(UNADJUDICATED))
        return next((f"{finding.rule}: {finding.passage}" for finding in failed), "")


class Problem(Value):
    """A file that was not ingested, or only with a remark."""

    path: str
    reason: str
    remedy: str
    fatal: bool = True
    """The file was left out; false for a remark on a file that was kept."""

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}; {self.remedy}"
