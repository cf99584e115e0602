"""Problems: what an HTTP caller is told, in the shape that the OpenAI and Anthropic clients read."""

from __future__ import annotations

from starlette.responses import JSONResponse

from pickysteve.errors import PickyError

__all__ = ["Problem", "of_error", "problem_response"]


class Problem(Exception):
    """An answer with a status, a code and one sentence."""

    def __init__(
        self, status: int, code: str, message: str, *, retry_after: str = "", param: str = ""
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.retry_after, self.param = status, code, retry_after, param


TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    503: "overloaded_error",
}


def problem_response(problem: Problem) -> JSONResponse:
    """One body that both clients understand: "type" at the top is Anthropic's, the rest OpenAI's."""
    kind = TYPES.get(problem.status, "invalid_request_error" if problem.status < 500 else "api_error")
    error = {"message": str(problem), "type": kind, "param": problem.param or None, "code": problem.code}
    headers = {"retry-after": problem.retry_after} if problem.retry_after else {}
    return JSONResponse({"type": "error", "error": error}, problem.status, headers)


def of_error(error: PickyError) -> Problem:
    """A user's mistake is a 400, a fault of ours a 503 that may pass."""
    code = type(error).__name__
    return Problem(400, code, str(error)) if error.exit_code == 2 else Problem(503, code, str(error))
