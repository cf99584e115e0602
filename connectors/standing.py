"""A standing Prefect server, a worker and a watcher of this account, and every flow deployed."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast
from urllib.error import HTTPError
from urllib.request import urlopen

import httpx
from platformdirs import user_data_path

from pickysteve.connectors.processes import Process, end, start_detached
from pickysteve.errors import PickyError, SettingsInvalid

__all__ = [
    "POOL",
    "PROCESSES",
    "OrchestratorFailed",
    "Standing",
    "Tell",
    "bring_down",
    "bring_up",
    "bring_up_again",
    "checkout",
    "read_standing",
    "standing_folder",
]

POOL = "local-process"
PROCESSES = ("server", "worker", "watcher")
# -P: what lies in the checkout is not imported by its bare name
PREFECT = (sys.executable, "-P", "-m", "prefect")
PICKYSTEVE = (sys.executable, "-P", "-c", "from pickysteve.connectors.entry import main; main()")
START_SECONDS = 180
# the environment of "up" may say otherwise
SERVER_SETTINGS = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    # Prefect keeps flow runs for ever, with the request's text among their parameters
    "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
    "PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD": str(30 * 86_400),
    "PREFECT_SERVER_EVENTS_RETENTION_PERIOD": "P1D",
    # one write to the database for many task runs: without it SQLite answers 503 under load
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
}

Tell = Callable[[str], None]


class OrchestratorFailed(PickyError):
    """A server, a worker or a deployment did not start."""


@dataclass(frozen=True)
class Standing:
    """What `up` started."""

    port: int
    checkout: str
    server: Process
    worker: Process
    watcher: Process

    @property
    def url(self) -> str:
        """Of the UI."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def api(self) -> str:
        """What PREFECT_API_URL is set to."""
        return f"{self.url}/api"


def standing_folder() -> Path:
    """Where the server's database, the logs and the process ids are."""
    return user_data_path("pickysteve") / "orchestrator"


def checkout() -> Path:
    """The checkout that is deployed; raises SettingsInvalid outside of one."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / "prefect.yaml").is_file() and (folder / "flows").is_dir():
            return folder
    raise SettingsInvalid("There is no prefect.yaml here: run this in a checkout of PickySteve.")


def read_standing() -> Standing | None:
    """What `up` started last, or None when nothing of it runs any more."""
    try:
        kept: dict[str, Any] = json.loads(_kept().read_text(encoding="utf-8"))
        kept |= {name: Process(**kept[name]) for name in PROCESSES}
        standing = Standing(**kept)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise SettingsInvalid(
            f'"{_kept()}" is not what "up" wrote: delete it, and stop what runs.'
        ) from error
    return standing if any(getattr(standing, name).find() for name in PROCESSES) else None


def bring_up(port: int, tell: Tell) -> Standing:
    """Start server, worker and watcher, and deploy all flows; what runs already is kept and deployed to.

    Runs whose process was killed while nobody could tell the server are taken up again.
    Raises:
        SettingsInvalid: outside of a checkout, or the port is taken.
        OrchestratorFailed: something did not start; nothing that was started now is left running.
    """
    root = checkout()
    with _alone(tell):
        return _bring_up(port, root, tell)


def bring_up_again(standing: Standing, tell: Tell) -> Standing | None:
    """Start what ended of it, as `bring_up` does; None when it was brought down meanwhile."""
    with _alone(tell):
        if not _kept().is_file():
            return None
        return _bring_up(standing.port, Path(standing.checkout), tell)


def bring_down(tell: Tell) -> bool:
    """Stop watcher, worker, with what it runs, and server; False when none ran."""
    with _alone(tell):
        standing = read_standing()
        for name in reversed(PROCESSES) if standing else ():
            process: Process = getattr(standing, name)
            if process.find():
                tell(f"stopping the {name}")
                end(process)
        _kept().unlink(missing_ok=True)
    return standing is not None


@contextmanager
def _alone(tell: Tell) -> Iterator[None]:
    """One `up` or `down` of this account at a time."""
    standing_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    with (standing_folder() / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("waiting for another up or down to end")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _kept() -> Path:
    return standing_folder() / "processes.json"


def _bring_up(port: int, root: Path, tell: Tell) -> Standing:
    from pickysteve.flows.orphans import take_up_orphans

    if secret := os.environ.get("PREFECT_SERVER_API_AUTH_STRING"):
        # what the server asks for is what its clients here send
        os.environ.setdefault("PREFECT_API_AUTH_STRING", secret)
    before = read_standing()
    running = {name for name in PROCESSES if before and getattr(before, name).find()}
    if before:
        # what runs knows the server by it
        port = before.port
    # whatever ends this early, also an interruption, ends what was started
    with ExitStack() as undo:

        def start(name: str, command: list[str], more: Mapping[str, str]) -> Process:
            if before and name in running:
                tell(f"the {name} runs already" + (f", on port {port}" if name == "server" else ""))
                return cast(Process, getattr(before, name))
            tell(f"starting the {name}")
            started = start_detached(command, standing_folder() / f"{name}.log", _environment(more), root)
            undo.callback(end, started)
            return started

        if "server" not in running and _answers(f"http://127.0.0.1:{port}/api/health"):
            raise SettingsInvalid(f"Something answers on port {port} already: pass --port another one.")
        api = f"http://127.0.0.1:{port}/api"
        address = {
            # where its UI asks, and whose pages may
            "PREFECT_SERVER_UI_API_URL": api,
            "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": f"http://127.0.0.1:{port},http://localhost:{port}",
        }
        server = start("server", [*PREFECT, "server", "start", "--port", str(port)], address)
        _wait_for(f"{api}/health", server)
        _run(["work-pool", "create", POOL, "--type", "process", "--overwrite"], api, root)
        tell("deploying the flows of prefect.yaml")
        _run(["deploy", "--all"], api, root)
        try:
            orphans = take_up_orphans(api, POOL) if "worker" not in running else ()
        except httpx.HTTPError as error:
            raise OrchestratorFailed(f"The server stopped answering ({error}): {_see_log()}.") from error
        for name in orphans:
            tell(f"taking up {name} again, whose process was killed")
        client = {"PREFECT_API_URL": api}
        worker = start(
            "worker", [*PREFECT, "worker", "start", "--pool", POOL, "--name", "pickysteve"], client
        )
        watcher = start("watcher", [*PICKYSTEVE, "watch"], client)
        standing = Standing(port, str(root), server, worker, watcher)
        _kept().write_text(json.dumps(asdict(standing)), encoding="utf-8")
        undo.pop_all()
    return standing


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    home = {"PREFECT_HOME": str(standing_folder() / "home")}
    return {**SERVER_SETTINGS, **os.environ, **home, **more}


def _run(command: list[str], api: str, folder: Path) -> None:
    outcome = subprocess.run(  # noqa: S603
        [*PREFECT, "--no-prompt", *command],
        cwd=folder,
        env=_environment({"PREFECT_API_URL": api}),
        capture_output=True,
        text=True,
        check=False,
    )
    if outcome.returncode:
        last = (outcome.stderr or outcome.stdout).strip().splitlines()[-1:]
        raise OrchestratorFailed(f"prefect {command[0]} failed ({' '.join(last)}): see prefect.yaml.")


def _wait_for(url: str, process: Process) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.find() is None:
            break
        if _answers(url):
            return
        time.sleep(0.3)
    raise OrchestratorFailed(f"The server did not start: {_see_log()}.")


def _see_log() -> str:
    return f'read "{standing_folder() / "server.log"}"'


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=2) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except HTTPError as error:
        # with PREFECT_SERVER_API_AUTH_STRING set, a stranger is told so
        return error.code == 401
    except OSError:
        return False
