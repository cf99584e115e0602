"""Scanning: a current verdict for every text of a registry, kept where it is an allow, else judged now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from pickysteve.flows.review import Decision, decided, read_decisions
from pickysteve.registry.graph import Edge
from pickysteve.registry.models import Problem, Skill, Unit, Verdict
from pickysteve.registry.verdicts import TextSurface, VerdictStore
from pickysteve.tasks.audit import UNAUDITED, DocumentAuditor
from pickysteve.tasks.engines.guard import Guard
from pickysteve.tasks.engines.index import text_digest
from pickysteve.tasks.gate import OPERATOR, GateConfig, gate_fingerprint, judge_document, judge_note
from pickysteve.tasks.roles import OFF, Role

__all__ = ["Progress", "Scanner", "is_provisional", "note_texts", "quiet", "scan_texts", "surfaces"]

Progress = Callable[[str, int, int], None]
"""Called with the phase, how many are done, and of how many."""


def quiet(phase: str, done: int, total: int) -> None:
    """Report nothing."""


class Scanner:
    """Judges the texts of a registry. `fresh` believes no kept verdict, and keeps the new ones."""

    def __init__(
        self, folder: Path, defender: Guard, config: GateConfig, *, auditor: Role = OFF, fresh: bool = False
    ) -> None:
        self.defender, self.config, self.fresh = defender, config, fresh
        self.audit = DocumentAuditor(auditor, config.auditor_failure)
        self.store = VerdictStore(folder, gate_fingerprint(defender, config, auditor))
        self.decisions: Mapping[str, Decision] = read_decisions()
        self.scanned = 0
        """Texts that the gate judged now."""

    def verdict_of(self, text: str, surface: TextSurface) -> Verdict:
        """The gate's verdict, as the operator's decision about this text makes it."""
        kept = None if self.fresh else self.store.allow_of(surface, text_digest(text))
        return decided(kept or self._judge(text, surface), self.decisions)

    def _judge(self, text: str, surface: TextSurface) -> Verdict:
        judge = judge_document if surface == "document" else judge_note
        verdict = judge(text, self.defender, self.config)
        self.scanned += 1
        # what the operator decided needs no second reader; without one it is no allow of this gate
        unread = surface == "document" and verdict.sha256 in self.decisions and self.audit.role.model
        if surface == "document" and not unread:
            verdict = self.audit.audited(text, verdict)
        verdict = verdict.model_copy(update={"fingerprint": self.store.gate})
        if not unread and not is_provisional(verdict):
            self.store.keep(surface, verdict)
        return verdict

    def remarks(self) -> Iterator[Problem]:
        """What a user should know of the store."""
        if self.store.ignored:
            yield Problem(
                path=str(self.store.path),
                reason=f"{self.store.ignored} kept verdicts are not what this account wrote for this gate",
                remedy="nothing to do: they were left out, and those texts were scanned again",
                fatal=False,
            )


def is_provisional(verdict: Verdict) -> bool:
    """Whether an allow rests on the operator's word, or waits for the auditor."""
    return any(f.rule == OPERATOR or f.rule.startswith(UNAUDITED) for f in verdict.findings)


def note_texts(skill: Skill) -> list[str]:
    """What stands beside a skill's files and may reach a model: examples, not-for note and summary."""
    notes = [skill.not_for, skill.summary]
    return [example.text for example in skill.examples] + [note for note in notes if note]


def surfaces(
    units: Iterable[Unit], skills: Iterable[Skill], edges: Iterable[Edge]
) -> list[tuple[str, TextSurface]]:
    """Every text of a registry that may reach a model; a suggested edge holds words of its documents."""
    texts: list[tuple[str, TextSurface]] = [(unit.text, "document") for unit in units]
    texts += [(text, "note") for skill in skills for text in note_texts(skill)]
    said = (edge for edge in edges if edge.origin == "registry")
    return texts + [(text, "note") for edge in said for text in edge.texts]


def scan_texts(
    texts: list[tuple[str, TextSurface]], scanner: Scanner, progress: Progress
) -> dict[str, Verdict]:
    """A verdict for each text, by the text's hash."""
    verdicts = {}
    for done, (text, surface) in enumerate(texts, start=1):
        verdicts[text_digest(text)] = scanner.verdict_of(text, surface)
        progress("scanning", done, len(texts))
    return verdicts
