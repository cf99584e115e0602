"""Service: an open engine that answers many callers. The servers and the Python interface stand on it.

from pickysteve.flows import pick
trace = pick("review my Rust endpoint for security")
print(trace.pick.skills, trace.bundle.text)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from pickysteve.errors import RunMissing, SettingsInvalid
from pickysteve.flows.asking import check_skill, read_request
from pickysteve.flows.dag import Engines, pick_context
from pickysteve.flows.engines import index_folder
from pickysteve.flows.examples import add_example
from pickysteve.flows.scanning import Progress, quiet
from pickysteve.flows.settings import Settings, load_settings
from pickysteve.flows.skill_files import SkillFile, judged_units, skill_file, skill_lines
from pickysteve.flows.warm import WarmReport, warm
from pickysteve.registry.models import Value
from pickysteve.tasks.assemble import assemble_bundle
from pickysteve.tasks.log import new_run_id, read_trace, write_trace
from pickysteve.tasks.stage import Direct
from pickysteve.tasks.values import Bundle, Pick, Request, Trace

__all__ = ["PAGE", "FilePage", "PickService", "SkillPage", "pick"]

PAGE = 50


class SkillPage(Value):
    """Some of the registry's skills, in its order, and where the next page starts."""

    skills: tuple[str, ...]
    context: str
    """A line for each of them, bounded: descriptions are retrieved text like any other."""
    total: int
    next_cursor: int | None = None


class FilePage(Value):
    """The same for skills as files."""

    files: tuple[SkillFile, ...]
    next_cursor: int | None = None


class PickService:
    """Opens the engines at the first call, and again when the index was written anew. Safe for threads.

    Each opening is a warm pass: under the policy "abort" it raises RegistryRefused while a document is.

    One request is answered at a time: the models use every core already.
    """

    def __init__(self, settings: Settings, progress: Progress = quiet) -> None:
        self.settings = settings
        self._progress = progress
        self._lock = threading.RLock()
        self._opened: tuple[object, Engines] | None = None

    def open(self) -> WarmReport:
        """Open now, before the first caller; the report of the warm pass tells what is not served."""
        with self._lock:
            warmed = warm(self.settings, self._progress)
            # the pass may have written the index, so its mark is read after it
            self._opened = (_mark(index_folder(self.settings) / "manifest.json"), warmed.engines)
            return warmed.report

    def pick(self, text: str, exclude: Iterable[str] = (), run: Callable[[], Direct] = Direct) -> Trace:
        """Pick the context for one request.

        Raises RequestInvalid for what is no request, SettingsInvalid for an unknown skill to exclude,
        and what opening the engines raises.
        """
        with self._lock:
            engines = self._engines()
            wanted = [check_skill(skill, engines.index.skills) for skill in exclude]
            asked = read_request(text, (*self.settings.exclude, *wanted), self.settings.gate)
            return pick_context(asked, engines, self.settings, run())

    def skills(self, cursor: int = 0, limit: int = PAGE, *, bare: bool = False) -> SkillPage:
        """A page of the registry; with `bare`, of its skills without example requests."""
        with self._lock:
            engines = self._engines()
            ids = [s.skill_id for s in engines.index.skills.values() if not (bare and s.examples)]
            shown = ids[cursor : cursor + limit]
            return SkillPage(
                skills=tuple(shown),
                context=skill_lines(shown, engines),
                total=len(ids),
                next_cursor=_following(cursor, limit, len(ids)),
            )

    def lines(self, skill_ids: Iterable[str]) -> str:
        """A line for each of these skills, bounded; raises SettingsInvalid for an unknown one."""
        with self._lock:
            engines = self._engines()
            return skill_lines([check_skill(skill, engines.index.skills) for skill in skill_ids], engines)

    def skill_files(self, cursor: int = 0, limit: int = PAGE) -> FilePage:
        """A page of the skills that can be served as files."""
        with self._lock:
            engines = self._engines()
            ids = list(engines.index.skills)
            files = []
            for skill_id in ids[cursor : cursor + limit]:
                with suppress(SettingsInvalid):  # one that is not served is not listed
                    files.append(skill_file(skill_id, engines, self.settings.gate))
            return FilePage(files=tuple(files), next_cursor=_following(cursor, limit, len(ids)))

    def skill_file(self, skill_id: str) -> SkillFile:
        """One skill as a file; raises SettingsInvalid for one that is not served."""
        with self._lock:
            return skill_file(skill_id, self._engines(), self.settings.gate)

    def skill(self, skill_id: str, chosen_for: str = "") -> Trace:
        """One skill, judged and bounded like a pick; with `chosen_for`, the choice is recorded for that run.

        Raises SettingsInvalid for an unknown skill, and RunMissing for a run that has no such option.
        """
        with self._lock:
            engines = self._engines()
            check_skill(skill_id, engines.index.skills)
            asked = self._run_with_option(chosen_for, skill_id) if chosen_for else None
            trace = _delivery(skill_id, engines, self.settings, asked)
            if asked is not None and trace.pick.status == "ok":
                write_trace(trace, self.settings.log)
                if self.settings.keep_choices:
                    add_example(self.settings, skill_id, asked.request.text, "accepted", engines.defender)
        return trace

    def add_examples(self, skill_id: str, texts: Iterable[str], origin: str) -> tuple[str, ...]:
        """Keep requests as examples of a skill where the gate allows them; returns those that it refused.

        Raises SettingsInvalid unless the user allows it.
        """
        if not self.settings.allow_examples:
            raise SettingsInvalid("Adding examples is off: the user allows it with PS_ALLOW_EXAMPLES=true.")
        with self._lock:
            engines = self._engines()
            check_skill(skill_id, engines.index.skills)
            verdicts = {
                text: add_example(self.settings, skill_id, text, origin, engines.defender) for text in texts
            }
        return tuple(text for text, verdict in verdicts.items() if not verdict.allowed)

    @contextmanager
    def reporting(self, progress: Progress) -> Iterator[None]:
        """Tell `progress` of long work during the block; other callers wait."""
        with self._lock:
            before, self._progress = self._progress, progress
            try:
                yield
            finally:
                self._progress = before

    def _run_with_option(self, run_id: str, skill_id: str) -> Trace:
        trace = read_trace(self.settings.runs_dir, run_id)
        if skill_id not in trace.pick.prediction_set:
            offered = ", ".join(trace.pick.prediction_set) or "nothing"
            raise RunMissing(f"Run {run_id} offered {offered}, not {skill_id}: choose one of these.")
        return trace

    def _engines(self) -> Engines:
        mark = _mark(index_folder(self.settings) / "manifest.json")
        if self._opened is None or self._opened[0] != mark:
            self.open()
        assert self._opened is not None  # noqa: S101 - told to the type checker
        return self._opened[1]


def _following(cursor: int, limit: int, total: int) -> int | None:
    return cursor + limit if cursor + limit < total else None


def _mark(path: Path) -> object:
    """Differs whenever the file was replaced."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _delivery(skill_id: str, engines: Engines, settings: Settings, asked: Trace | None) -> Trace:
    """The record of handing over a skill that the caller named."""
    gated = judged_units(skill_id, engines, settings.gate)
    if gated.aborted or not gated.candidates:
        reasons = tuple(f"{candidate.unit_id} was refused by the gate" for candidate in gated.refused)
        pick, bundle = Pick(status="blocked_retrieved", reasons=reasons), Bundle()
    else:
        reason = f"chosen by the caller from run {asked.run_id}" if asked else "named by the caller"
        pick = Pick(status="ok", skills=(skill_id,), prediction_set=(skill_id,), reasons=(reason,))
        bundle = assemble_bundle(pick, engines.index, settings.assemble)
    return Trace(
        run_id=new_run_id(),
        flow="choice",
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        request=asked.request if asked else Request(text=skill_id),
        registry=engines.index.data.root,
        fingerprints={"index": engines.index.fingerprint},
        candidates=(*gated.candidates, *gated.refused),
        pick=pick,
        bundle=bundle,
    )


def pick(text: str, *, registry: Path | str | None = None, exclude: Iterable[str] = ()) -> Trace:
    """Pick the context for one request, with the settings of this account.

    Opens the engines on each call; keep a PickService for many requests.
    """
    settings = load_settings(registry=Path(registry) if registry is not None else None)
    return PickService(settings).pick(text, exclude)
