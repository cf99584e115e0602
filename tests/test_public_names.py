"""Public means listed: every module says what it is, and lists what others may use."""

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("core", "registry", "calibration", "tasks", "flows", "connectors")
SOURCES = sorted(path.relative_to(ROOT) for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))


def module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    kept = parts[1:] if parts[0] == "core" else parts
    return ".".join(("pickysteve", *(part for part in kept if part != "__init__")))


TREES = {module_name(path): ast.parse((ROOT / path).read_text(encoding="utf-8")) for path in SOURCES}
MODULES = [module_name(path) for path in SOURCES if path.name != "__init__.py"]
PACKAGES = [module_name(path) for path in SOURCES if path.name == "__init__.py"]


def listed(module: str) -> list[str]:
    """The literal `__all__` of a module."""
    for node in TREES[module].body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    raise AssertionError(f"{module} has no __all__: list its public names.")


def defined(module: str) -> set[str]:
    """The functions, classes and constants that a module itself defines at its top."""
    names: set[str] = set()
    for node in TREES[module].body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


@cache
def used_by_others() -> set[tuple[str, str, str]]:
    """(user, module, name) of what one of our modules takes from another, by import or as an attribute."""
    found = set()
    for user, tree in TREES.items():
        aliases: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "") in TREES:
                for alias in node.names:
                    if f"{node.module}.{alias.name}" in TREES:
                        aliases[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                    else:
                        found.add((user, str(node.module), alias.name))
        attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        for node in attributes:
            if isinstance(node.value, ast.Name) and node.value.id in aliases:
                found.add((user, aliases[node.value.id], node.attr))
    return found


def sort_key(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, each by name: the order that ruff keeps."""
    return (0 if name.isupper() else 1 if name.lstrip("_")[:1].isupper() else 2, name)


@pytest.mark.parametrize("module", [*MODULES, *PACKAGES])
def test_every_module_says_in_its_docstring_what_it_is(module: str) -> None:
    assert (ast.get_docstring(TREES[module]) or "").strip()


@pytest.mark.parametrize("module", MODULES)
def test_every_module_lists_its_public_names_sorted_and_once(module: str) -> None:
    names = listed(module)
    assert names == sorted(set(names), key=sort_key)
    assert not [name for name in names if name.startswith("_")]


@pytest.mark.parametrize("module", MODULES)
def test_every_listed_name_exists_and_is_ours(module: str) -> None:
    loaded = import_module(module)
    assert not [name for name in listed(module) if not hasattr(loaded, name)]
    handed_on = {name for user, _, name in used_by_others() if user == module}
    assert set(listed(module)) <= defined(module) | handed_on


def test_what_another_module_uses_is_listed() -> None:
    wrong = [
        f"{user} uses {module}.{name}"
        for user, module, name in sorted(used_by_others())
        if module in MODULES and name not in listed(module)
    ]
    assert not wrong, wrong


@pytest.mark.parametrize("module", MODULES)
def test_everything_public_has_a_docstring(module: str) -> None:
    bare = [
        node.name
        for node in TREES[module].body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and node.name in listed(module)
        and not ast.get_docstring(node)
    ]
    assert not bare, bare


def test_no_module_is_named_for_nothing() -> None:
    vague = {"common", "helpers", "manager", "misc", "utils"}
    assert not [module for module in MODULES if module.rpartition(".")[2] in vague]
