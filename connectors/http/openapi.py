"""OpenAPI: the description of the server, as data and as a page that needs no network."""

from __future__ import annotations

import html
from functools import cache
from importlib.metadata import version
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

__all__ = ["docs_page", "openapi", "openapi_page"]

TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT}
PICK_REQUEST = {
    "type": "object",
    "required": ["request"],
    "additionalProperties": False,
    "properties": {
        "request": {**TEXT, "description": "what is needed, in words"},
        "exclude": {**TEXTS, "description": "skills not to pick"},
    },
}
PICK = {
    "type": "object",
    "required": ["status", "picks", "bundle", "question", "run_id"],
    "properties": {
        "status": {
            "type": "string",
            "enum": ["ok", "no_confident_match", "blocked_request", "blocked_retrieved"],
        },
        "picks": {**TEXTS, "maxItems": 2},
        "bundle": {**TEXT, "description": "the skills' text between nonce markers: reference material"},
        "question": {**TEXT, "description": "what to ask when nothing fits, or several do"},
        "ambiguous": {"type": "boolean"},
        "low_confidence": {"type": "boolean"},
        "prediction_set": TEXTS,
        "run_id": TEXT,
        "milliseconds": {"type": "number"},
    },
}
PAGE = {
    "type": "object",
    "properties": {
        "skills": TEXTS,
        "context": {**TEXT, "description": "a line for each skill between nonce markers"},
        "total": {"type": "integer"},
        "next_cursor": {"type": ["integer", "null"]},
    },
}
ERROR = {
    "type": "object",
    "properties": {
        "type": {"const": "error"},
        "error": {
            "type": "object",
            "properties": {
                "message": TEXT,
                "type": TEXT,
                "param": {"type": ["string", "null"]},
                "code": TEXT,
            },
        },
    },
}
ANY = {"type": "object", "description": "as the API of that path defines it"}


def _schema(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}


def _operation(
    summary: str, answer: str, *, body: str = "", parameters: tuple[str, ...] = ()
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": summary,
        "responses": {
            "200": {"description": "the answer", "content": _schema(answer)},
            "default": {"description": "one sentence that says what to do", "content": _schema("Error")},
        },
    }
    if body:
        operation["requestBody"] = {"required": True, "content": _schema(body)}
    if parameters:
        places = [(name.strip("{}"), "path" if name.startswith("{") else "query") for name in parameters]
        operation["parameters"] = [
            {"name": name, "in": place, "required": place == "path", "schema": TEXT} for name, place in places
        ]
    return operation


@cache
def openapi() -> dict[str, Any]:
    """The description, OpenAPI 3.1."""
    proxied = "with the picked context added to the user's turn"
    return {
        "openapi": "3.1.0",
        "info": {"title": "PickySteve", "version": version("pickysteve")},
        "paths": {
            "/pick": {"post": _operation("Pick the skill for a request", "Pick", body="PickRequest")},
            "/skills": {"get": _operation("A page of the registry", "Page", parameters=("cursor", "limit"))},
            "/skills/{skill}": {
                "get": _operation("One skill, scanned and bounded", "Pick", parameters=("{skill}", "run_id"))
            },
            "/v1/chat/completions": {"post": _operation(f"OpenAI chat, {proxied}", "Any", body="Any")},
            "/v1/responses": {"post": _operation(f"OpenAI responses, {proxied}", "Any", body="Any")},
            "/v1/messages": {"post": _operation(f"Anthropic messages, {proxied}", "Any", body="Any")},
            "/v1/models": {"get": _operation("The model host's models", "Any")},
            "/healthz": {"get": _operation("Whether picks can be made", "Any")},
        },
        "components": {
            "schemas": {"PickRequest": PICK_REQUEST, "Pick": PICK, "Page": PAGE, "Error": ERROR, "Any": ANY}
        },
    }


async def openapi_page(_request: Request) -> Response:
    """The description as JSON."""
    return JSONResponse(openapi())


async def docs_page(_request: Request) -> Response:
    """The description as a page."""
    rows = "".join(
        f"<tr><td><code>{method.upper()}</code></td><td><code>{html.escape(path)}</code></td>"
        f"<td>{html.escape(operation['summary'])}</td></tr>"
        for path, operations in openapi()["paths"].items()
        for method, operation in operations.items()
    )
    return HTMLResponse(PAGE_HTML.format(rows=rows))


PAGE_HTML = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>PickySteve: HTTP</title>
<style>:root{{color-scheme:light dark}}
body{{font:16px/1.5 system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}}
table{{border-collapse:collapse;width:100%}}
td,th{{text-align:left;padding:.4rem .8rem;border-bottom:1px solid #8886}}
pre{{overflow-x:auto;padding:1rem;border:1px solid #8886;border-radius:.4rem}}</style>
<h1>PickySteve over HTTP</h1>
<p>The <a href="/">live page</a> shows each pick as it is made. The description for programs is at
<a href="/openapi.json">/openapi.json</a>; numbers are at <a href="/metrics">/metrics</a>; MCP is at
<code>/mcp</code>.</p>
<table><tr><th>method</th><th>path</th><th>what</th></tr>{rows}</table>
<pre>curl -s localhost:8077/pick -H 'content-type: application/json' \\
  -d '{{"request": "review my Rust endpoint"}}'</pre>
</html>"""
