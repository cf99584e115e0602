"""Sessions of onnxruntime, as all models here are opened."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

__all__ = ["open_session"]


def open_session(model: str | bytes, *, spinning: bool) -> InferenceSession:
    """A session on the CPU, from a file or from its bytes.

    A thread that spins while it waits takes the core of whoever has work: with the short texts of a
    request that was half of all CPU time here. OMP_NUM_THREADS holds as for other libraries, though
    onnxruntime itself does not read it: one process of several must not take all cores.
    """
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.log_severity_level = 3
    threads = os.environ.get("OMP_NUM_THREADS", "")
    if threads.isdigit():
        options.intra_op_num_threads = int(threads)
    if not spinning:
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return InferenceSession(model, options, providers=["CPUExecutionProvider"])
