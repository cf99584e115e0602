"""What the scripts that try agents share: where agents are installed, a state of our own, and a table."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

DEFAULT_FOLDER = Path("/tmp/pickysteve-agents")
PICKYSTEVE = str(Path(sys.executable).parent / "pickysteve")
REQUEST = "the borrow checker rejects my struct with a reference in it"
ANSWER = "rust-build-errors"
NPM = ("npm", "install", "--no-audit", "--no-fund", "--loglevel=error")
# what npm no longer runs by itself after it has unpacked a package
AFTERWARDS = {
    "@anthropic-ai/claude-code": ("node", "install.cjs"),
    "opencode-ai": ("node", "postinstall.mjs"),
}
# the background engine stays alive for the next client, and not much longer than the last
ENGINE_SECONDS = 45


def binaries(folder: Path) -> Path:
    """Where npm puts commands."""
    return folder / "node_modules" / ".bin"


def with_path(folder: Path, home: Path) -> dict[str, str]:
    """Variables for a command in a home of its own; npm's commands come first, then ours."""
    places = [str(binaries(folder)), str(Path(PICKYSTEVE).parent), os.environ["PATH"]]
    return {"HOME": str(home), "PATH": ":".join(places), "NO_COLOR": "1"}


def install(folder: Path, packages: Mapping[str, str]) -> None:
    """The packages whose command is not there yet, with a Node that is new enough for all of them."""
    missing = [package for command, package in packages.items() if not (binaries(folder) / command).exists()]
    if not missing:
        return
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "PATH": f"{binaries(folder)}:{os.environ['PATH']}"}
    # first, as npm takes an old version of a package where the Node is too old for the new one
    subprocess.run([*NPM, "--prefix", folder, "node@24"], check=True)
    subprocess.run([*NPM, "--prefix", folder, *missing], check=True, env=environment)
    for package in AFTERWARDS.keys() & set(missing):
        where = folder / "node_modules" / package
        subprocess.run(AFTERWARDS[package], cwd=where, env=environment, check=True, stdout=subprocess.DEVNULL)


def make_state(folder: Path) -> Path:
    """A home in which PickySteve has read its registry, so that nobody waits for that."""
    home = folder / "state"
    config = home / ".config" / "pickysteve" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"engine_idle_seconds = {ENGINE_SECONDS}\n")
    done = subprocess.run([PICKYSTEVE, "warm"], env=with_path(folder, home), check=False)
    if done.returncode:
        sys.exit("The registry cannot be read: see above.")
    return home


def print_table(rows: Iterable[tuple[str, ...]]) -> None:
    """Rows of texts, the first one the heads."""
    rows = list(rows)
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
