"""Machine: the paths of the table on one system, for one home folder and one set of variables."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath

from pickysteve.connectors.agents.table import System, Target, code_folders

__all__ = ["Machine", "is_on_path", "this_machine"]

VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


@dataclass(frozen=True)
class Machine:
    """What paths depend on. Nothing here looks at a disk, save through the functions that it is given."""

    system: System
    home: str
    variables: Mapping[str, str]

    def expand(self, template: str) -> PurePath | None:
        """A path of the table; None when it needs a variable that is not set."""
        template = template.replace("{code}", code_folders()[self.system])
        found = VARIABLE.match(template)
        if found is not None:
            value = self.variables.get(found[1]) or found[2]
            if value is None:
                return None
            template = value + template[found.end() :]
        flavour = PureWindowsPath if self.system == "windows" else PurePosixPath
        if template == "~" or template.startswith("~/"):
            return flavour(self.home, template[2:])
        return flavour(template)

    def candidates(self, target: Target) -> tuple[PurePath, ...]:
        """Where a target's file may be, best first; one alone when a variable names it."""
        named = [path for path in map(self.expand, target.overrides) if path is not None]
        usual = [self.expand(template) for template in target.path_templates(self.system)]
        return tuple(named[:1]) or tuple(path for path in usual if path is not None)

    def config_path(self, target: Target, exists: Callable[[PurePath], bool]) -> PurePath:
        """The file that an agent reads: the first that exists, else the first."""
        paths = self.candidates(target)
        return next((path for path in paths if exists(path)), paths[0])

    def has(self, target: Target, exists: Callable[[PurePath], bool], on_path: Callable[[str], bool]) -> bool:
        """Whether the program of a target is here: its binary on PATH, or a folder that only it makes."""
        folders = [self.expand(template) for template in target.folder_templates(self.system)]
        return any(map(on_path, target.binaries)) or any(path and exists(path) for path in folders)


def this_machine() -> Machine:
    """The machine that we run on."""
    systems: dict[str, System] = {"darwin": "macos", "win32": "windows"}
    return Machine(systems.get(sys.platform, "linux"), str(Path.home()), os.environ)


def is_on_path(name: str) -> bool:
    """Whether a program of that name is on PATH."""
    return shutil.which(name) is not None
