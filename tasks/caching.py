"""How Prefect keeps a stage's result: sealed files of typed JSON, by a key that we compute.

A result file names its own serializer, and Prefect obeys it, so a planted file could run code. The
storage therefore seals every file, with its key, under the account's key; a file that does not
verify is treated as missing, and the stage runs again.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prefect import Task
from prefect.cache_policies import NO_CACHE
from prefect.filesystems import WritableFileSystem
from prefect.serializers import Serializer
from pydantic import Field

from pickysteve.registry.models import Value
from pickysteve.seal import operator_seal
from pickysteve.tasks import values
from pickysteve.tasks.cache_files import CACHE_EXPIRATION, cache_folder

__all__ = ["SealedStorage", "ValueSerializer", "make_task"]

SEAL_LENGTH = 64

_VALUE_TYPES = {
    name: kind for name, kind in vars(values).items() if isinstance(kind, type) and issubclass(kind, Value)
}


class SealedStorage(WritableFileSystem):
    """Result files that only this account can have written."""

    _block_type_name = "PickySteve sealed storage"

    basepath: str = Field(description="folder of the result files")

    def read_path(self, path: str, _sync: bool = True) -> bytes:  # type: ignore[override]
        """The content, when its seal verifies; ValueError means a miss to Prefect (which passes _sync)."""
        place = self._resolve_path(path)
        sealed = place.read_bytes()
        signature, content = sealed[:SEAL_LENGTH].decode("ascii", "replace"), sealed[SEAL_LENGTH:]
        if not operator_seal().verifies(f"result:{place.name}", content, signature):
            raise ValueError(f"The cached result {place.name} was not written by this account.")
        return content

    def write_path(self, path: str, content: bytes, _sync: bool = True) -> str:  # type: ignore[override]
        """Write content and seal, all or nothing; returns the place."""
        place = self._resolve_path(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
        draft.write_bytes(operator_seal().sign(f"result:{place.name}", content).encode() + content)
        draft.replace(place)
        return str(place)

    async def aread_path(self, path: str) -> bytes:
        """The same for Prefect's asynchronous readers."""
        return self.read_path(path)

    async def awrite_path(self, path: str, content: bytes) -> str:
        """The same for Prefect's asynchronous writers."""
        return self.write_path(path, content)

    def _resolve_path(self, path: str) -> Path:
        """Prefect asks a local storage for the place of a key, and for its folder by the empty key."""
        return Path(self.basepath) / Path(path).name


class ValueSerializer(Serializer):
    """Our own values as JSON, rebuilt from a closed list of types; nothing else can be named."""

    type: str = Field(default="pickysteve-value", frozen=True)

    def dumps(self, obj: Any) -> bytes:
        """The value's type name and fields."""
        if _VALUE_TYPES.get(type(obj).__name__) is not type(obj):
            raise TypeError(f"A stage returned {type(obj).__name__}, which is no value of the flow.")
        return json.dumps({"type": type(obj).__name__, "value": obj.model_dump(mode="json")}).encode()

    def loads(self, blob: bytes) -> Any:
        """The value; ValueError for a type that is not on the list."""
        record = json.loads(blob)
        kind = _VALUE_TYPES.get(str(record["type"]))
        if kind is None:
            raise ValueError(f"{record['type']} is no value of the flow.")
        return kind.model_validate(record["value"])


def make_task(
    name: str, body: Callable[..., Any], *, cached: bool, timeout_seconds: float, fresh: bool = False
) -> Task[..., Any]:
    """The Prefect task of a stage. A stage that is not cached is not persisted either.

    A fresh task reads no result and replaces the one that is there.
    """
    if not cached:
        return Task(
            body,
            name=name,
            task_run_name=name,
            cache_policy=NO_CACHE,
            persist_result=False,
            timeout_seconds=timeout_seconds,
        )
    task = Task(
        body,
        name=name,
        task_run_name=name,
        cache_key_fn=lambda _, parameters: parameters["call"].key,
        cache_expiration=CACHE_EXPIRATION,
        cache_result_in_memory=False,
        persist_result=True,
        refresh_cache=fresh,
        result_serializer=ValueSerializer(),
        timeout_seconds=timeout_seconds,
    )
    # set afterwards: the constructor takes only blocks saved on a server, for readers on other
    # machines, and nobody but this account may read these
    task.result_storage = SealedStorage(basepath=str(cache_folder()))
    return task
