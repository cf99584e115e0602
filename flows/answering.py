"""Answering the tasks of a suite in any process: words in, words out, the engines opened where they are used.

A thread of the caller finds the caller's own engines. A process elsewhere opens the same ones from storage,
once, and its rows say by what they were answered, so that the caller can refuse those of other engines.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pydantic_core import to_jsonable_python
from rank_bm25 import BM25Okapi

from pickysteve.errors import SettingsInvalid, WorkerMismatch
from pickysteve.flows.asking import read_request
from pickysteve.flows.dag import Engines, pick_context
from pickysteve.flows.engines import index_folder, open_engines_on
from pickysteve.flows.fetching import calibration_digest, index_with, with_calibration
from pickysteve.flows.opened import opened_once
from pickysteve.flows.settings import Settings, load_settings
from pickysteve.flows.suite import Task
from pickysteve.flows.suite_rows import SuiteRow, row_parts, suite_row
from pickysteve.registry.models import Value
from pickysteve.tasks.engines.bm25 import plain_terms
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.stage import Direct
from pickysteve.tasks.values import Request, Trace

__all__ = ["Answered", "Answerer", "PlainBm25", "RowJob", "answer_row", "checked", "job_key", "row_job"]

OF_THE_MACHINE = {"index_dir", "proxy", "runs_dir", "serve", "shared"}


class RowJob(Value):
    """What a process needs to answer the rows of one suite: a few kilobytes, and no secret."""

    settings: dict[str, Any]
    index: Path
    """Folder of the index, where the caller has it."""
    index_digest: str
    calibration: str
    """SHA-256 of the fitted file; "" without one."""
    must_block: tuple[str, ...] = ()
    """Categories whose requests the gate has to refuse."""
    has_key: bool
    """Whether the caller has a key for the model host; it does not travel."""
    evaluation: str
    """A name for this evaluation, so that no two share what an engine remembers."""


class Answered(Value):
    """A row, and by what it was answered."""

    row: SuiteRow
    parts: dict[str, str]
    trace: Trace | None = None
    """The run's record, where it could not be written to the caller's folder."""


class PlainBm25:
    """rank-bm25 over plain lower-case words of each whole file: the baseline beside every figure."""

    def __init__(self, index: SearchIndex) -> None:
        self.skills = [unit.skill_id for unit in index.data.units.values()]
        self.engine = BM25Okapi([plain_terms(unit.text) for unit in index.data.units.values()])

    def rank(self, request: str) -> tuple[tuple[str, ...], float]:
        """Skills, best first, and the best score."""
        scores = self.engine.get_scores(plain_terms(request))
        order = sorted(range(len(self.skills)), key=lambda at: -scores[at])
        return tuple(dict.fromkeys(self.skills[at] for at in order)), float(max(scores, default=0.0))


@dataclass(frozen=True)
class Answerer:
    """Open engines and the settings that they were opened for."""

    engines: Engines
    settings: Settings
    baseline: PlainBm25
    parts: dict[str, str]
    """What decides an answer, by name: digests of engines, settings and code."""
    must_block: tuple[str, ...] = ()
    carries: bool = False
    """Whether run records go back with the rows: the caller's folder may be on another machine."""

    def answer(self, task: Task) -> Answered:
        """Run one task through the request flow, with plain BM25 beside it."""
        request = read_request(task.request, self.settings.exclude, self.settings.gate)
        trace = self._pick(request)
        plain = self.baseline.rank(task.request)
        row = suite_row(task, trace, plain, self.parts, task.category in self.must_block)
        return Answered(row=row, parts=self.parts, trace=trace if self.carries else None)

    def _pick(self, request: Request) -> Trace:
        if not self.carries:
            return pick_context(request, self.engines, self.settings, Direct())
        with tempfile.TemporaryDirectory(prefix="pickysteve-") as folder:
            own = self.settings.model_copy(update={"runs_dir": Path(folder)})
            return pick_context(request, self.engines, own, Direct())


def row_job(
    engines: Engines, settings: Settings, must_block: tuple[str, ...], evaluation: str
) -> tuple[RowJob, Answerer]:
    """A suite's job, and the answerer for the threads of this process."""
    job = RowJob(
        settings=portable_settings(settings),
        index=index_folder(settings),
        index_digest=engines.index.fingerprint,
        calibration=calibration_digest(settings),
        must_block=must_block,
        has_key=bool(settings.llm.api_key.get_secret_value()),
        evaluation=evaluation,
    )
    parts = row_parts(engines, settings)
    return job, Answerer(engines, settings, PlainBm25(engines.index), parts, must_block)


def answer_row(row: str, task: str, job: str) -> str:
    """Answer a task (JSON) of a job (JSON); returns an Answered as JSON. `row` is the task's id, as a name.

    Raises SettingsInvalid, IndexMissing, CalibrationMismatch, ModelUnavailable, SharedUnavailable or
    SharedCorrupt where this process cannot have what it needs.
    """
    answerer = opened_once(job_key(job), lambda: _open(RowJob.model_validate_json(job)))
    return answerer.answer(Task.model_validate_json(task)).model_dump_json()


def job_key(job: str) -> str:
    """The name of a job's engines in a process."""
    return f"rows {sha256(job.encode()).hexdigest()}"


def _open(job: RowJob) -> Answerer:
    settings = with_calibration(job.calibration, load_settings(**job.settings))
    if job.has_key and not settings.llm.api_key.get_secret_value():
        # its stages would fall back without the model, in rows that look like the caller's
        raise SettingsInvalid("This worker has no key for the model host: set PS_LLM__API_KEY where it runs.")
    engines = open_engines_on(index_with(job.index_digest, job.index, settings), settings)
    parts = row_parts(engines, settings)
    baseline = PlainBm25(engines.index)
    return Answerer(engines, settings, baseline, parts, job.must_block, carries=True)


def portable_settings(settings: Settings) -> dict[str, Any]:
    """The settings as plain JSON, without secrets and what else is a machine's own."""
    plain = _without_secrets(settings.model_dump(exclude=OF_THE_MACHINE))
    return dict(to_jsonable_python(plain))


def _without_secrets(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _without_secrets(value) if isinstance(value, Mapping) else value
        for name, value in values.items()
        if not isinstance(value, SecretStr)
    }


def checked(answered: str, wanted: Mapping[str, str], parts: Mapping[str, str]) -> Answered:
    """The answer, if it is to one of our tasks (digests by id) and by our own engines, settings and code.

    Raises WorkerMismatch, which names what is another.
    """
    found = Answered.model_validate_json(answered)
    row = found.row
    if wanted.get(row.id) != row.task_sha256:
        raise WorkerMismatch(
            f"A worker answered {row.id[:100]!r}, which it was not asked: "
            "install the same version of PickySteve on every machine."
        )
    others = [
        name for name in sorted(parts.keys() | found.parts.keys()) if parts.get(name) != found.parts.get(name)
    ]
    if others or not row.answered_by(parts):
        raise WorkerMismatch(
            f"A worker answered row {row.id} with another {', '.join(others) or 'fingerprint'} than this "
            "process has, and its rows are not kept: give every worker the same version of PickySteve, the "
            "same models, settings and index, and start the workers anew."
        )
    return found
