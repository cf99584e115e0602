"""The error tree is what its docstring says, and every message ends with the remedy."""

import ast
import inspect
import re
from pathlib import Path

import pytest

from pickysteve import errors

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("core", "registry", "calibration", "tasks", "flows", "connectors")
CLASSES = [getattr(errors, name) for name in errors.__all__]


def raised_messages() -> list[tuple[str, str, str]]:
    """(place, class, text) of each `raise SomeError("literal" or f"literal")` of our sources."""
    found = []
    for path in sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            call = node.exc if isinstance(node, ast.Raise) else None
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.args:
                place = f"{path.relative_to(ROOT)}:{node.lineno}"
                found.append((place, call.func.id, literal(call.args[0])))
    return [(place, name, text) for place, name, text in found if name in errors.__all__ and text]


def literal(node: ast.expr) -> str:
    """The fixed parts of a string; a dash stands for what is filled in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "-" for part in node.values)
    return ""


def drawn_tree() -> dict[str, str]:
    """Child to parent, as the module's docstring draws them by indentation."""
    parents: dict[str, str] = {}
    path: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        name = line.split()[0] if line.startswith("    ") else ""
        if name not in errors.__all__:
            continue
        depth = len(line) - len(line.lstrip())
        path = [entry for entry in path if entry[0] < depth]
        parents[name] = path[-1][1] if path else "Exception"
        path.append((depth, name))
    return parents


def test_the_docstring_draws_the_tree_as_it_is() -> None:
    assert drawn_tree() == {cls.__name__: cls.__base__.__name__ for cls in CLASSES}


def test_every_error_of_the_module_is_listed_and_documented() -> None:
    defined = {n for n, cls in vars(errors).items() if inspect.isclass(cls)}
    assert defined == set(errors.__all__)
    assert all(cls.__doc__ for cls in CLASSES)


@pytest.mark.parametrize("cls", CLASSES)
def test_what_the_caller_can_mend_exits_with_2_and_the_rest_with_1(cls: type[errors.PickyError]) -> None:
    assert cls.exit_code == (2 if issubclass(cls, errors.UserError) else 1)


def test_every_message_ends_with_a_remedy() -> None:
    # the parser's messages are fragments: the catalogue puts the path before and the remedy behind them
    messages = [m for m in raised_messages() if m[1] != "SkillFormatError"]
    assert len(messages) >= 10
    # a text that ends with a filled-in part hands on the remedy of the error inside
    bad = [(place, text) for place, _, text in messages if not re.search(r": .+\.$|-$", text)]
    assert not bad, bad
