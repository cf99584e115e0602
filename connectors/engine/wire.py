"""Wire: one JSON object a line. A call is answered by any number of progress lines and one last line.

{"call": "pick", "arguments": {"text": "...", "exclude": []}}
{"progress": ["encoding", 32, 475]}
{"result": {...}}   or   {"error": {"kind": "RequestInvalid", "message": "..."}}
"""

from __future__ import annotations

import json
from typing import Any

from pickysteve import errors
from pickysteve.errors import EngineUnavailable, PickyError

__all__ = ["MAX_LINE_BYTES", "decode", "encode", "error_line", "raised"]

MAX_LINE_BYTES = 16 * 1024 * 1024


def encode(message: dict[str, Any]) -> bytes:
    """One line; lone surrogates survive as escapes."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """The object of a line; raises EngineUnavailable for anything else."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise EngineUnavailable("A line of the background engine is not JSON: try again.") from error
    if not isinstance(message, dict):
        raise EngineUnavailable("A line of the background engine is no object: try again.")
    return message


def error_line(error: Exception) -> dict[str, Any]:
    """What the caller needs to raise the same error; of a fault of ours it learns the kind alone."""
    if isinstance(error, PickyError):
        return {"error": {"kind": type(error).__name__, "message": str(error)}}
    message = f"The background engine failed ({type(error).__name__}): its log tells more."
    return {"error": {"kind": "EngineUnavailable", "message": message}}


def raised(error: dict[str, Any]) -> PickyError:
    """The error of a line, to raise."""
    kind = getattr(errors, str(error.get("kind")), None)
    if not (isinstance(kind, type) and issubclass(kind, PickyError)):
        kind = EngineUnavailable
    return kind(str(error.get("message")))
