"""Where the task runs of a flow go: to threads of this process, or to the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from prefect import Flow, Task, unmapped
from prefect.context import FlowRunContext
from prefect.futures import as_completed
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from pickysteve.errors import SettingsInvalid, WorkerMissing

__all__ = ["RunnerName", "check_runner", "open_runner", "spread"]

RunnerName = Literal["threads", "dask"]
ONE_THREAD_EACH = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""A process has one task at a time, and its libraries must not start more threads than that."""
CONNECT_SECONDS = 10


def check_runner(kind: RunnerName, scheduler: str | None) -> None:
    """Raise SettingsInvalid for an address without Dask, or Dask without its packages."""
    if kind == "threads" and scheduler:
        raise SettingsInvalid(f"Threads have no scheduler: leave out {scheduler}, or choose dask.")
    if kind == "dask":
        try:
            import prefect_dask.task_runners  # noqa: F401
        except ImportError as error:
            raise SettingsInvalid('Dask is not installed: run "pip install pickysteve[dask]".') from error


@contextmanager
def open_runner(kind: RunnerName, workers: int, scheduler: str | None = None) -> Iterator[TaskRunner[Any]]:
    """A runner for the surrounding flow, closed with it.

    Dask without a scheduler's address is a cluster of `workers` processes on this machine; with one, the
    cluster is there and has the workers that it has. Raises as `check_runner` does, and WorkerMissing when
    no scheduler answers, it wants certificates, or it has no workers.
    """
    check_runner(kind, scheduler)
    if kind == "threads":
        threads: TaskRunner[Any] = ThreadPoolTaskRunner(max_workers=workers)
        with threads:
            yield threads
        return
    with _dask(workers, scheduler) as runner:
        yield runner


@contextmanager
def _dask(workers: int, scheduler: str | None) -> Iterator[TaskRunner[Any]]:
    from prefect_dask.task_runners import DaskTaskRunner

    if scheduler is None:
        own = {
            "n_workers": workers,
            "threads_per_worker": 1,
            "dashboard_address": "127.0.0.1:0",
            "env": ONE_THREAD_EACH,
        }
        runner = DaskTaskRunner(cluster_kwargs=own)
    else:
        _check_workers(scheduler)
        runner = DaskTaskRunner(address=scheduler)
    with runner:
        yield runner


def _check_workers(scheduler: str) -> None:
    from distributed import Client, Security

    secured: Any = Security
    if scheduler.startswith("tls://") and not secured().get_connection_args("client").get("ssl_context"):
        raise WorkerMissing(
            f"{scheduler} wants certificates: name them in DASK_DISTRIBUTED__COMM__TLS__CA_FILE, "
            "..._TLS__CLIENT__CERT and ..._TLS__CLIENT__KEY."
        )
    connect: Any = Client
    try:
        with connect(scheduler, timeout=CONNECT_SECONDS, set_as_default=False) as client:
            found = len(client.scheduler_info()["workers"])
    except (OSError, ValueError) as error:
        raise WorkerMissing(
            f"No Dask scheduler answers at {scheduler}: start one, and its workers."
        ) from error
    if not found:
        raise WorkerMissing(f'The scheduler at {scheduler} has no workers: run "dask worker {scheduler}".')


def spread(
    runner: TaskRunner[Any], task: Task[..., Any], each: Mapping[str, Sequence[str]], job: str
) -> Iterator[str]:
    """One task run for each set of words, all with the same job; what they return, as they finish."""
    with _shippable_flow():
        futures = list(runner.map(task, {**each, "job": unmapped(job)}))
    for future in as_completed(futures):
        yield future.result()


def _stand_in() -> None:
    """What a worker sees in place of the flow that it works for."""


@contextmanager
def _shippable_flow() -> Iterator[None]:
    """Put a stand-in for the flow into the context that goes along with each task run.

    Prefect ships the flow itself, which may hold open engines, and the flow of a deployment lies in a module
    named by its file alone, which no worker can import.
    """
    context = FlowRunContext.get()
    if context is None or context.flow is None:
        yield
        return
    stand_in: Flow[..., None] = Flow(_stand_in, name=context.flow.name, persist_result=False)
    with context.model_copy(update={"flow": stand_in}):
        yield
