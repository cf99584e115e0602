"""Whether a process has ended, also one that its parent has not buried yet."""

from __future__ import annotations

import os

import psutil

__all__ = ["has_ended"]


def has_ended(process: psutil.Process) -> bool:
    """Whether nothing of it runs any more; a child of this process is buried then."""
    try:
        # a process whose first thread alone has ended is called a zombie too
        if process.is_running() and (process.status() != psutil.STATUS_ZOMBIE or process.num_threads() > 1):
            return False
        if process.ppid() == os.getpid():
            process.wait(0)
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return False
    return True
