"""A standing Prefect server and worker of this account, started detached and found again by number."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.request import urlopen

import psutil
from platformdirs import user_data_path

from pickysteve.errors import PickyError, SettingsInvalid

__all__ = [
    "POOL",
    "OrchestratorFailed",
    "Standing",
    "bring_down",
    "bring_up",
    "checkout",
    "read_standing",
    "standing_folder",
]

POOL = "local-process"
START_SECONDS = 180
STOP_SECONDS = 15
SERVER_SETTINGS = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    # one write to the database for many task runs: without it SQLite answers 503 under load
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
}

Tell = Callable[[str], None]


class OrchestratorFailed(PickyError):
    """A server, a worker or a deployment did not start."""


@dataclass(frozen=True)
class Process:
    """A process, told from a later one of the same number by when it started."""

    pid: int
    started: float

    @classmethod
    def of(cls, pid: int) -> Process:
        """The process that has the number now."""
        return cls(pid, psutil.Process(pid).create_time())

    def find(self) -> psutil.Process | None:
        """The process while it runs."""
        try:
            found = psutil.Process(self.pid)
            same = abs(found.create_time() - self.started) < 1
            return found if same and found.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None


@dataclass(frozen=True)
class Standing:
    """What `up` started."""

    port: int
    checkout: str
    server: Process
    worker: Process

    @property
    def url(self) -> str:
        """Of the UI."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def api(self) -> str:
        """What PREFECT_API_URL is set to."""
        return f"{self.url}/api"

    @property
    def runs(self) -> bool:
        """Whether both still run."""
        return all(process.find() for process in (self.server, self.worker))


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
        kept = json.loads((standing_folder() / "processes.json").read_text(encoding="utf-8"))
        server, worker = Process(**kept.pop("server")), Process(**kept.pop("worker"))
        standing = Standing(server=server, worker=worker, **kept)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        path = standing_folder() / "processes.json"
        raise SettingsInvalid(f'"{path}" is not what "up" wrote: delete it, and stop what runs.') from error
    return standing if standing.server.find() or standing.worker.find() else None


def bring_up(port: int, tell: Tell) -> Standing:
    """Start a server and a worker and deploy all flows; what runs already is deployed to again.

    Raises:
        SettingsInvalid: outside of a checkout, or the port is taken.
        OrchestratorFailed: something did not start; nothing is left running.
    """
    root, folder = checkout(), standing_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    running = read_standing()
    if running and running.runs:
        tell("the server runs already")
        _deploy(root, running.api, tell)
        return running
    if running:
        bring_down(tell)
    if _answers(f"http://127.0.0.1:{port}/api/health"):
        raise SettingsInvalid(f"Something answers on port {port} already: pass --port another one.")
    # whatever ends this early, also an interruption, ends what was started
    with ExitStack() as undo:
        tell("starting the server")
        api = f"http://127.0.0.1:{port}/api"
        server = _start("server", ["server", "start", "--port", str(port)], SERVER_SETTINGS)
        undo.callback(_end, server)
        _wait_for(f"{api}/health", server)
        _run(["work-pool", "create", POOL, "--type", "process", "--overwrite"], api, root)
        _deploy(root, api, tell)
        tell("starting the worker")
        command = ["worker", "start", "--pool", POOL, "--name", "pickysteve"]
        worker = _start("worker", command, {"PREFECT_API_URL": api}, root)
        undo.callback(_end, worker)
        standing = Standing(port, str(root), server, worker)
        (folder / "processes.json").write_text(json.dumps(asdict(standing)), encoding="utf-8")
        undo.pop_all()
    return standing


def bring_down(tell: Tell) -> bool:
    """Stop the worker, with what it runs, and the server; False when neither ran."""
    standing = read_standing()
    for name in ("worker", "server") if standing else ():
        process: Process = getattr(standing, name)
        if process.find():
            tell(f"stopping the {name}")
            _end(process)
    (standing_folder() / "processes.json").unlink(missing_ok=True)
    return standing is not None


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    home = {"PREFECT_HOME": str(standing_folder() / "home")}
    return {**os.environ, **home, **more}


def _start(name: str, command: list[str], more: Mapping[str, str], folder: Path | None = None) -> Process:
    with (standing_folder() / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "prefect", *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder or standing_folder(),
            env=_environment(more),
            start_new_session=True,
        )
    # it is left to run, and nobody here waits for its end
    process.returncode = 0
    return Process.of(process.pid)


def _run(command: list[str], api: str, folder: Path) -> None:
    outcome = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "prefect", "--no-prompt", *command],
        cwd=folder,
        env=_environment({"PREFECT_API_URL": api}),
        capture_output=True,
        text=True,
        check=False,
    )
    if outcome.returncode:
        last = (outcome.stderr or outcome.stdout).strip().splitlines()[-1:]
        raise OrchestratorFailed(f"prefect {command[0]} failed ({' '.join(last)}): see prefect.yaml.")


def _deploy(root: Path, api: str, tell: Tell) -> None:
    tell("deploying the flows of prefect.yaml")
    _run(["deploy", "--all"], api, root)


def _wait_for(url: str, process: Process) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.find() is None:
            break
        if _answers(url):
            return
        time.sleep(0.3)
    raise OrchestratorFailed(f'The server did not start: read "{standing_folder() / "server.log"}".')


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=2) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except OSError:
        return False


def _end(started: Process) -> None:
    """End a process that still runs and all that it started: politely, then for good."""
    process = started.find()
    if process is None:
        return
    every = [*process.children(recursive=True), process]
    for each in reversed(every):
        _quietly(each.terminate)
    _, left = psutil.wait_procs(every, timeout=STOP_SECONDS)
    for each in left:
        _quietly(each.kill)
    psutil.wait_procs(left, timeout=STOP_SECONDS)


def _quietly(end: Callable[[], None]) -> None:
    try:
        end()
    except psutil.NoSuchProcess:
        return
