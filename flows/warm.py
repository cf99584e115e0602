"""The warm pass: what a server does before it accepts traffic.

Every text of the index must have a verdict of this gate that follows the operator's decisions. What
has none is scanned now; where the outcome changes, the index is written anew. No verdict, no service.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pickysteve.errors import RegistryRefused
from pickysteve.flows.dag import Engines
from pickysteve.flows.engines import current_index, engines_on, ingest, open_calibration, verdict_folder
from pickysteve.flows.review import decided
from pickysteve.flows.scanning import Progress, Scanner, is_provisional, quiet, surfaces
from pickysteve.flows.settings import Settings
from pickysteve.registry.index_tables import IndexData
from pickysteve.registry.models import Problem, Value, Verdict
from pickysteve.tasks.engines.embedder import open_encoder
from pickysteve.tasks.engines.guard import Guard
from pickysteve.tasks.engines.index import text_digest
from pickysteve.tasks.roles import open_roles

__all__ = ["RefusedDocument", "WarmReport", "Warmed", "refused_documents", "warm"]

NAMED = 10
"""How many refused documents an error names."""


class RefusedDocument(Value):
    """A document that is not served, and why."""

    unit_id: str
    source: str
    sha256: str
    """Of the scanned text: what a decision of the operator names."""
    rules: tuple[str, ...]


class WarmReport(Value):
    """What the pass found and did."""

    documents: int
    """All of the index; each has a current verdict now."""
    scanned: int
    """Texts, notes included, that the gate judged now: those without a current verdict, and blocks."""
    refused: tuple[RefusedDocument, ...]
    remarks: tuple[Problem, ...] = ()
    """Kept verdicts that were not believed."""

    @property
    def served(self) -> int:
        """Documents that may be handed over."""
        return self.documents - len(self.refused)


@dataclass(frozen=True)
class Warmed:
    """The engines to serve with, and the report."""

    engines: Engines
    report: WarmReport


def warm(settings: Settings, progress: Progress = quiet) -> Warmed:
    """Make sure that everything that can be served was judged by the gate as it is now.

    The policy "drop" leaves refused documents out and reports them. Raises RegistryRefused under the
    policy "abort" while there is one, and whatever opening the index raises.
    """
    encoder = open_encoder(settings.embed)
    defender, roles = Guard(), open_roles(settings.llm)
    calibrated = open_calibration(settings, encoder)
    aborts = settings.gate.policy == "abort"
    data = current_index(settings, encoder, defender, roles.auditor)
    scanner = Scanner(verdict_folder(settings), defender, settings.gate, auditor=roles.auditor)
    if data is not None:
        current = _all_current(data, scanner, progress)
        # a refused file may have been mended since: look again before service is refused
        data = data if current and not (aborts and refused_documents(data)) else None
    scanned = scanner.scanned
    if data is None:
        done = ingest(settings, progress=progress)
        data, scanned = done.data, scanned + done.scanned
    report = WarmReport(
        documents=len(data.units),
        scanned=scanned,
        refused=refused_documents(data),
        remarks=tuple(scanner.remarks()),
    )
    if aborts and report.refused:
        raise _refused(report.refused)
    return Warmed(engines_on(data, encoder, defender, roles, calibrated), report)


def _all_current(data: IndexData, scanner: Scanner, progress: Progress) -> bool:
    """Whether every text is served, or not, as its verdict of now says."""
    texts = surfaces(data.units.values(), data.skills.values(), data.edges)
    same = True
    for done, (text, surface) in enumerate(texts, start=1):
        stored = data.verdicts.get(text_digest(text))
        now = (
            decided(stored, scanner.decisions)
            if stored is not None and _is_allow_of(stored, data.gate)
            else scanner.verdict_of(text, surface)
        )
        same = same and stored is not None and stored.allowed is now.allowed
        progress("scanning", done, len(texts))
    return same


def _is_allow_of(verdict: Verdict, gate: str) -> bool:
    """The gate's own allow; a block, and what only the operator's word made an allow, is judged again."""
    return verdict.allowed and verdict.fingerprint == gate and not is_provisional(verdict)


def refused_documents(data: IndexData) -> tuple[RefusedDocument, ...]:
    """The documents of an index without an allow, in the order of their ids."""
    found = [(unit, data.verdicts.get(text_digest(unit.text))) for unit in data.units.values()]
    refused = [(unit, verdict) for unit, verdict in found if verdict is None or not verdict.allowed]
    return tuple(
        RefusedDocument(
            unit_id=unit.unit_id,
            source=unit.source,
            sha256=text_digest(unit.text),
            rules=verdict.blocking_rules if verdict else ("no-verdict",),
        )
        for unit, verdict in sorted(refused, key=lambda pair: pair[0].unit_id)
    )


def _refused(documents: Iterable[RefusedDocument]) -> RegistryRefused:
    names = [document.source for document in documents]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return RegistryRefused(
        f'The policy is "abort", and the gate refuses {", ".join(names[:NAMED])}{more}: remove or allow them '
        '(see "pickysteve skills review"), or set PS_GATE__POLICY=drop to serve without them.'
    )
