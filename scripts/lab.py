"""What the scripts that try agents share: installing, a state of our own, processes, and a table."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
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
CLIENT_SECONDS = 240


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


def run(words: list[str], home: Path, environment: dict[str, str]) -> tuple[str, str]:
    """(exit code, all that was printed)."""
    with subprocess.Popen(
        words,
        cwd=home / "work",
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            printed, _ = process.communicate(timeout=CLIENT_SECONDS)
            code = str(process.returncode)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            printed, _ = process.communicate()
            code = f"none in {CLIENT_SECONDS} s"
    return code, printed


def those_in(home: Path) -> list[int]:
    """What a client left behind: whatever has this home, save our background engine, which works in "/"."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is not ours
            variables = (process / "environ").read_bytes().split(b"\0")
            if f"HOME={home}".encode() in variables and (process / "cwd").readlink() != Path("/"):
                found.append(int(process.name))
    return found


def end_those_in(home: Path) -> None:
    """End them, so that nothing writes into a home that goes away."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in those_in(home):
            with suppress(ProcessLookupError):
                os.kill(process, number)
        deadline = time.monotonic() + 5
        while those_in(home) and time.monotonic() < deadline:
            time.sleep(0.2)


@contextmanager
def serving(folder: Path, home: Path, upstream: str) -> Iterator[str]:
    """The address of `pickysteve serve` on a free port, in front of a model host."""
    words = [PICKYSTEVE, "serve", "--port", "0", "--upstream", upstream]
    with subprocess.Popen(words, env=with_path(folder, home), stderr=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stderr or ():
                if "listening on " in line:
                    yield line.split("listening on ")[1].strip()
                    break
            else:
                sys.exit("The HTTP server did not start.")
        finally:
            process.terminate()
            process.communicate()


def print_table(rows: Iterable[tuple[str, ...]]) -> None:
    """Rows of texts, the first one the heads."""
    rows = list(rows)
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
