"""Scanning: a current verdict for every text of a registry, kept where it is an allow, else judged now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from pickysteve.errors import WorkerMismatch
from pickysteve.flows.review import Decision, decided, read_decisions
from pickysteve.registry.graph import Edge
from pickysteve.registry.models import Problem, Skill, Unit, Verdict
from pickysteve.registry.verdicts import TextSurface, VerdictStore
from pickysteve.tasks.audit import UNAUDITED, DocumentAuditor
from pickysteve.tasks.engines.guard import Guard
from pickysteve.tasks.engines.index import text_digest
from pickysteve.tasks.gate import OPERATOR, GateConfig, judge_document, judge_note
from pickysteve.tasks.gate_fingerprint import gate_fingerprint
from pickysteve.tasks.roles import OFF, Role

__all__ = ["Judged", "Progress", "Scanner", "is_provisional", "note_texts", "quiet", "scan_texts", "surfaces"]

Judged = Callable[[list[tuple[str, TextSurface]]], Iterable[tuple[TextSurface, Verdict]]]
"""Judges texts elsewhere by the gate alone, and gives the verdicts as they come, in any order."""
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
        self.reader = gate_fingerprint(defender, config)
        """Of the gate without its auditor: what a verdict from elsewhere must have been given by."""
        self.scanned = 0
        """Texts that the gate judged now."""
        self._ahead: dict[tuple[TextSurface, str], Verdict] = {}

    def verdict_of(self, text: str, surface: TextSurface) -> Verdict:
        """The gate's verdict, as the operator's decision about this text makes it."""
        digest = text_digest(text)
        kept = self._ahead.get((surface, digest)) or self._kept(surface, digest)
        return decided(kept or self._judge(text, surface), self.decisions)

    def judge_ahead(self, texts: list[tuple[str, TextSurface]], judged: Judged, progress: Progress) -> None:
        """Have all that has no kept verdict judged elsewhere; each verdict is kept as it comes.

        Raises WorkerMismatch for a verdict of another gate than ours, or of a text that was not asked for.
        """
        wanted = {(surface, text_digest(text)): text for text, surface in texts}
        wanted = {key: text for key, text in wanted.items() if not self._kept(*key)}
        for surface, verdict in judged([(text, surface) for (surface, _), text in wanted.items()]):
            key = (surface, verdict.sha256)
            if verdict.fingerprint != self.reader or key not in wanted:
                raise WorkerMismatch(
                    f"A worker judged {verdict.sha256[:12]} with another gate than ours, or unasked, "
                    "and its verdicts are not kept: install the same version of PickySteve on every machine."
                )
            self._ahead[key] = self._settled(wanted[key], surface, verdict)
            progress("scanning", len(self._ahead), len(wanted))

    def _kept(self, surface: TextSurface, digest: str) -> Verdict | None:
        return None if self.fresh else self.store.allow_of(surface, digest)

    def _judge(self, text: str, surface: TextSurface) -> Verdict:
        judge = judge_document if surface == "document" else judge_note
        return self._settled(text, surface, judge(text, self.defender, self.config))

    def _settled(self, text: str, surface: TextSurface, verdict: Verdict) -> Verdict:
        """The gate's verdict after the auditor's word, kept where it may be."""
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
    texts: list[tuple[str, TextSurface]], scanner: Scanner, progress: Progress, judged: Judged | None = None
) -> dict[str, Verdict]:
    """A verdict for each text, by the text's hash; judged here, or ahead by `judged`."""
    if judged:
        scanner.judge_ahead(texts, judged, progress)
    verdicts = {}
    for done, (text, surface) in enumerate(texts, start=1):
        verdicts[text_digest(text)] = scanner.verdict_of(text, surface)
        progress("scanning", done, len(texts))
    return verdicts
