"""Evaluation suites: one JSON object a line, read with errors that name the line."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from pickysteve.errors import SuiteInvalid

__all__ = ["Task", "read_suite"]


class Task(BaseModel):
    """One request with the skills that answer it; an empty gold means that none does."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str = ""
    request: str = Field(validation_alias=AliasChoices("request", "task"), min_length=1)
    gold: tuple[str, ...]
    accept: tuple[str, ...] = ()
    traps: tuple[str, ...] = ()
    category: str = ""


def read_suite(path: Path) -> tuple[Task, ...]:
    """Read a suite; a task without an id gets its line number, from 0.

    Raises SuiteInvalid, naming the line, for a line that is no task.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SuiteInvalid(f'The suite "{path}" cannot be read: pass --suite a UTF-8 JSONL file.') from error
    tasks = [_task(path, at, line) for at, line in enumerate(lines) if line.strip()]
    if not tasks:
        raise SuiteInvalid(f'The suite "{path}" holds no task: write one JSON object a line.')
    return tuple(tasks)


def _task(path: Path, at: int, line: str) -> Task:
    where = f"{path.name} line {at + 1}"
    try:
        task = Task.model_validate(json.loads(line))
    except (ValueError, ValidationError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        example = '{"id": "1", "request": "...", "gold": ["skill-id"]}'
        raise SuiteInvalid(f"{where} is not a task ({reason}): write it like {example}.") from error
    return task if task.id else task.model_copy(update={"id": str(at)})
