"""Imports go down only, Prefect stays in its corner, and heavy packages wait until they are used."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BELOW = {
    "core": {"core"},
    "registry": {"core", "registry"},
    "calibration": {"core", "calibration"},
    "tasks": {"core", "registry", "calibration", "tasks"},
    "flows": {"core", "registry", "calibration", "tasks", "flows"},
    "connectors": {"core", "registry", "calibration", "tasks", "flows", "connectors"},
}
HEAVY = {"pandas", "sentence_transformers", "torch", "transformers"}
SOURCES = sorted(path.relative_to(ROOT) for layer in BELOW for path in (ROOT / layer).rglob("*.py"))


@dataclass(frozen=True)
class Import:
    """One imported module, and whether the import runs when the file is loaded."""

    module: str
    line: int
    at_load: bool


def imports_of(tree: ast.AST, *, package: str = "", at_load: bool = True) -> Iterator[Import]:
    """Every import below a node; what is inside functions or for type checkers only is not at load."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno, at_load) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # `from package import module` names the module, which may lie in another layer than its package
            base = f"{package}.{node.module or ''}".rstrip(".") if node.level else node.module or ""
            yield from (Import(f"{base}.{alias.name}", node.lineno, at_load) for alias in node.names)
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        yield from imports_of(node, package=package, at_load=at_load and not inside and not for_types)


@cache
def imports(path: Path) -> list[Import]:
    package = ".".join(("pickysteve", *path.parent.parts)).replace("pickysteve.core", "pickysteve")
    return list(imports_of(ast.parse((ROOT / path).read_text(encoding="utf-8")), package=package))


def layer_of(module: str) -> str:
    """The layer of one of our modules; "" for those of others."""
    parts = module.split(".")
    if parts[0] != "pickysteve":
        return ""
    return parts[1] if len(parts) > 1 and parts[1] in BELOW else "core"


def said(path: Path, found: Import) -> str:
    return f"{path}:{found.line} imports {found.module}"


@pytest.mark.parametrize("layer", BELOW)
def test_imports_go_down_only(layer: str) -> None:
    wrong = [
        said(path, found)
        for path in SOURCES
        if path.parts[0] == layer
        for found in imports(path)
        if (target := layer_of(found.module)) and target not in BELOW[layer]
    ]
    assert not wrong, wrong


def may_import_prefect(path: Path, found: Import) -> bool:
    if path.parts[0] == "flows":
        return path.name not in {"dag.py", "settings.py"}
    if path == Path("tasks/stage.py"):
        return not found.at_load
    return path == Path("tasks/caching.py")


def test_prefect_is_imported_by_flows_and_by_what_makes_a_stage_a_task() -> None:
    wrong = [
        said(path, found)
        for path in SOURCES
        for found in imports(path)
        if found.module.split(".")[0].startswith("prefect") and not may_import_prefect(path, found)
    ]
    assert not wrong, wrong


def test_what_loads_prefect_is_itself_loaded_late() -> None:
    # except by another that loads it anyway
    loaders = {"pickysteve.tasks.caching"} | {
        f"pickysteve.flows.{path.stem}"
        for path in SOURCES
        if path.parts[0] == "flows"
        and any(found.at_load and found.module.split(".")[0] == "prefect" for found in imports(path))
    }
    wrong = [
        said(path, found)
        for path in SOURCES
        if f"pickysteve.flows.{path.stem}" not in loaders
        for found in imports(path)
        if found.at_load and any(f"{found.module}.".startswith(f"{loader}.") for loader in loaders)
    ]
    assert not wrong, wrong


def test_heavy_packages_are_imported_where_they_are_used() -> None:
    wrong = [
        said(path, found)
        for path in SOURCES
        for found in imports(path)
        if found.at_load and found.module.split(".")[0] in HEAVY
    ]
    assert not wrong, wrong


def test_our_folders_are_never_imported_by_their_bare_names() -> None:
    # a folder of that name in the current directory would be run instead
    bare = set(BELOW) | {"datasets", "benchmarks", "tests"}
    wrong = [
        said(path, found) for path in SOURCES for found in imports(path) if found.module.split(".")[0] in bare
    ]
    assert not wrong, wrong


@pytest.mark.parametrize(
    "module",
    [
        "connectors.cli",
        "connectors.engine.process",
        "connectors.mcp_main",
        "flows.dag",
        "flows.engines",
        "tasks.log",
        "flows.evaluate",
    ],
)
def test_a_direct_pick_loads_neither_prefect_nor_torch(module: str) -> None:
    script = f"import sys, pickysteve.{module}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT.anchor
    )
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & (HEAVY | {"prefect"})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import prefect", [("prefect", True)]),
        ("def f():\n    from prefect import flow", [("prefect.flow", False)]),
        ("if TYPE_CHECKING:\n    from prefect import Task", [("prefect.Task", False)]),
        ("try:\n    import torch\nexcept ImportError:\n    pass", [("torch", True)]),
        ("class A:\n    import torch", [("torch", True)]),
        ("from . import models", [("pickysteve.registry.models", True)]),
        ("from pickysteve import flows", [("pickysteve.flows", True)]),
    ],
)
def test_the_reader_of_imports_sees_each_form(source: str, expected: list[tuple[str, bool]]) -> None:
    found = imports_of(ast.parse(source), package="pickysteve.registry")
    assert [(one.module, one.at_load) for one in found] == expected
