"""The console script. What a client waits for, the MCP handshake, loads nothing of the command line."""

from __future__ import annotations

import os
import sys

from pickysteve.connectors.terminal import visible
from pickysteve.errors import PickyError

__all__ = ["main"]


def main() -> None:
    """Run a command; a PickyError becomes one sentence and its exit code, an interruption the shell's 130."""
    # a request's products are small: threads of OpenBLAS took thirty times their CPU time, spinning
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        if sys.argv[1:2] == ["mcp"]:
            from pickysteve.connectors.mcp_main import main as serve_mcp

            serve_mcp(sys.argv[2:])
        else:
            from pickysteve.connectors.cli import run

            run(sys.argv[1:])
    except PickyError as error:
        print(f"pickysteve: {visible(str(error))}", file=sys.stderr)  # noqa: T201
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
