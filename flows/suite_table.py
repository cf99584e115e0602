"""The table of suites: which requests run on which registry, and the floors that no run may break."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from pydantic import Field, ValidationError

from pickysteve.calibration.metrics import Summary
from pickysteve.errors import SuiteInvalid
from pickysteve.flows.examples import read_overlay
from pickysteve.flows.gate_corpora import repository_root
from pickysteve.registry.models import Value
from pickysteve.registry.sources.reading import read_registry

__all__ = ["SuiteEntry", "choose_suites", "dataset_digest", "read_table", "suite_table"]

FIGURES = sorted(Summary.model_fields.keys() - {"stages", "categories", "right_by_category"})


class SuiteEntry(Value):
    """One suite of the table."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    registry: Path
    suite: Path
    must_block: tuple[str, ...] = ()
    """Categories whose requests the gate has to refuse."""
    at_least: dict[str, float] = Field(default_factory=dict)
    """Figures of the Summary, and the value under which a run fails."""
    at_most: dict[str, float] = Field(default_factory=dict)


def suite_table() -> Path:
    """The table of the checkout."""
    return repository_root() / "datasets" / "suites.toml"


def read_table(path: Path) -> dict[str, SuiteEntry]:
    """The suites by name; paths in the table are relative to it.

    Raises SuiteInvalid, naming the entry, for one that is incomplete or names no figure.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SuiteInvalid(
            f'There is no table of suites "{path}": run this in a checkout, or pass --table a TOML file.'
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise SuiteInvalid(f'"{path}" is no TOML ({error}): correct it.') from error
    return {name: _entry(path, name, fields) for name, fields in tables.items()}


def _entry(path: Path, name: str, fields: object) -> SuiteEntry:
    try:
        entry = SuiteEntry.model_validate({"name": name, **(fields if isinstance(fields, dict) else {})})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise SuiteInvalid(f"{path.name}, suite {name}: {where} ({first['msg']}): correct it.") from error
    for figure in (*entry.at_least, *entry.at_most):
        if figure not in FIGURES:
            close = difflib.get_close_matches(figure, FIGURES, n=1)
            hint = f"did you mean {close[0]}?" if close else "leave it out."
            raise SuiteInvalid(f"{path.name}, suite {name}: there is no figure {figure}: {hint}")
    places = {key: (path.parent / getattr(entry, key)).resolve() for key in ("registry", "suite")}
    return entry.model_copy(update=places)


def choose_suites(table: dict[str, SuiteEntry], names: Iterable[str]) -> tuple[SuiteEntry, ...]:
    """The named entries in the table's order, all of them without names; raises SuiteInvalid."""
    wanted = set(names) or set(table)
    for name in sorted(wanted - set(table)):
        close = difflib.get_close_matches(name, table, n=1)
        hint = f"did you mean {close[0]}?" if close else f"choose from {', '.join(table)}."
        raise SuiteInvalid(f"There is no suite {name}: {hint}")
    return tuple(entry for name, entry in table.items() if name in wanted)


def dataset_digest(entry: SuiteEntry) -> str:
    """SHA-256 over the suite, the files of its registry by path, and the user's own example requests.

    Raises SuiteInvalid or RegistryMissing for what is not there.
    """
    try:
        parts = [sha256(entry.suite.read_bytes()).hexdigest()]
    except OSError as error:
        raise SuiteInvalid(f'The suite "{entry.suite}" cannot be read: correct the table.') from error
    found = read_registry(entry.registry)
    parts += sorted(f"{file.path}\0{file.sha256}" for file in (*found.markdown, *found.examples))
    parts.append(read_overlay(entry.registry).model_dump_json(exclude_defaults=True))
    return sha256("\n".join(parts).encode()).hexdigest()
