"""What can be set about the HTTP server and the proxy in it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from pickysteve.tasks.stage import StageConfig

__all__ = ["LOOPBACK", "ProxyConfig", "ServeConfig"]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MEBIBYTE = 1024 * 1024


class ServeConfig(StageConfig):
    """Where the HTTP server listens, and what it takes."""

    host: str = Field("127.0.0.1", description="address to listen on; another than loopback needs a token")
    port: int = Field(8077, ge=0, le=65_535, description="port to listen on; 0 takes a free one")
    token: SecretStr | None = Field(None, description="what callers must send as bearer token")
    hosts: tuple[str, ...] = Field((), description="further names by which callers may reach it")
    origins: tuple[str, ...] = Field((), description="web pages, as scheme://host:port, that may call it")
    max_body_bytes: int = Field(32 * MEBIBYTE, gt=0, description="longest body that is read")
    body_seconds: float = Field(30, gt=0, description="time that a caller has to send its body")
    at_once: int = Field(128, gt=0, description="requests at a time; further ones are answered with 503")


class ProxyConfig(StageConfig):
    """The model host behind the proxy, and what the proxy does before and after it."""

    upstream: str = Field("", description="base address of the model host, with or without /v1")
    api_key: SecretStr | None = Field(None, description="key for the model host, instead of the caller's own")
    on_abstention: Literal["pass", "refuse"] = Field("pass", description="what happens when nothing fits")
    on_block: Literal["refuse", "pass"] = Field("refuse", description="what happens when the gate blocks")
    judge: Literal["off", "upstream"] = Field("off", description="who settles an ambiguous pick")
    filter_output: bool = Field(True, description="redact markers and secrets from the model's answer")
    turns: int = Field(1024, gt=0, description="user turns whose pick is remembered")
    connect_seconds: float = Field(10, gt=0, description="time to reach the model host")
    answer_seconds: float = Field(600, gt=0, description="longest silence of the model host")
