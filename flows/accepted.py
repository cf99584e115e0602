"""Accepted files: where a baseline or a fit that somebody made here goes, and where it is read from."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from platformdirs import user_data_path

__all__ = ["accepted_file", "new_accepted_file"]


def new_accepted_file(name: str) -> Path:
    """Where the file of that name is written: never into an installed copy.

    In a checkout it goes to `calibration/`, to be committed; elsewhere into the operator's data folder.
    """
    for place in (_packaged().parent, Path.cwd()):
        if _is_checkout(place):
            return place / "calibration" / name
    return user_data_path("pickysteve") / "accepted" / name


def accepted_file(name: str) -> Path:
    """The file that holds: the one that was accepted here, else the one that PickySteve comes with."""
    own = new_accepted_file(name)
    return own if own.is_file() else _packaged() / name


def _packaged() -> Path:
    spec = find_spec("pickysteve.calibration")
    return Path((spec and spec.origin) or __file__).resolve().parent


def _is_checkout(folder: Path) -> bool:
    return all((folder / part).is_file() for part in ("calibration/fitted.py", "datasets/suites.toml"))
