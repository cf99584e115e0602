"""Shared, once a session: an own home for all state, the models, and a small registry of our skills."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

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
