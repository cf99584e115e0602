"""The handshake is answered before the SDK is there, with the SDK's own words, and nothing is lost."""

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from pickysteve.connectors.mcp_greeting import (
    META,
    REVISIONS,
    STATELESS_REVISION,
    _Replayed,
    _WithoutAnswer,
    greeting,
)

COMMAND = str(Path(sys.executable).parent / "pickysteve")
CLIENT = {"name": "test", "version": "1"}
ENVELOPE = {
    f"{META}protocolVersion": STATELESS_REVISION,
    f"{META}clientInfo": CLIENT,
    f"{META}clientCapabilities": {},
}


def initialize(revision, number=1, **changes):
    asked = {"protocolVersion": revision, "capabilities": {}, "clientInfo": CLIENT} | changes
    return {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": asked}


def discover(number=1, **changes):
    params = {"_meta": ENVELOPE | changes}
    return {"jsonrpc": "2.0", "id": number, "method": "server/discover", "params": params}


def line(message):
    return json.dumps(message).encode() + b"\n"


def sdk_answer(message):
    """What the SDK alone says to a first line."""
    code = "from pickysteve.connectors.mcp_server import make_mcp_server; make_mcp_server(None).run('stdio')"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], input=line(message), capture_output=True, cwd="/", check=True
    )
    return json.loads(done.stdout)


def test_the_revisions_are_those_of_the_sdk():
    assert REVISIONS == HANDSHAKE_PROTOCOL_VERSIONS
    assert (STATELESS_REVISION,) == MODERN_PROTOCOL_VERSIONS


@pytest.mark.parametrize(
    "message",
    [
        initialize("2024-11-05", capabilities={"roots": {"listChanged": True}, "sampling": {}}),
        initialize("2025-11-25", "a", clientInfo={**CLIENT, "title": "Test"}, _meta={"progressToken": 1}),
        initialize("1999-01-01"),
        discover("b"),
    ],
    ids=["oldest", "newest", "unknown", "stateless"],
)
def test_the_greeting_is_what_the_sdk_says(message):
    answer = sdk_answer(message)
    version = (
        answer["result"].get("serverInfo", {}).get("version")
        or answer["result"]["_meta"][f"{META}serverInfo"]["version"]
    )
    assert greeting(message, version) == answer


@pytest.mark.parametrize(
    "message",
    [
        None,
        [],
        "initialize",
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        {**initialize("2025-11-25"), "jsonrpc": "1.0"},
        {k: v for k, v in initialize("2025-11-25").items() if k != "id"},
        initialize(20251125),
        initialize("2025-11-25", capabilities=None),
        initialize("2025-11-25", clientInfo={"name": "no version"}),
        discover(**{f"{META}protocolVersion": "2030-01-01"}),
        discover(**{f"{META}clientInfo": None}),
    ],
)
def test_all_that_is_no_plain_handshake_is_left_to_the_sdk(message):
    assert greeting(message, "1") is None


def test_the_sdk_is_not_loaded_when_the_answer_goes_out():
    code = """
import sys
from pickysteve.connectors import entry, mcp_main
mcp_main.greet()
heavy = {"anyio", "mcp", "mcp_types", "pydantic", "prefect", "rich", "typer", "numpy"}
print(*sorted(heavy & sys.modules.keys()), "all that is heavy", file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], input=line(initialize("2025-11-25")), capture_output=True, cwd="/"
    )
    assert json.loads(done.stdout)["result"]["protocolVersion"] == "2025-11-25"
    assert done.stderr.decode().split() == ["all", "that", "is", "heavy"]


@given(st.binary(max_size=40), st.binary(max_size=40), st.integers(1, 9))
def test_no_byte_is_lost_between_the_first_line_and_the_rest(read, rest, size):
    source, sink = os.pipe()
    os.write(sink, rest)
    os.close(sink)
    with io.BufferedReader(_Replayed(read, source), size) as stream:
        assert stream.read() == read + rest
    os.close(source)


@given(st.lists(st.sampled_from(["é", "x" * 50, '"', "\\n"]), max_size=5), st.integers(1, 60))
def test_only_the_answer_that_was_given_is_left_out(texts, cut):
    answer = {"jsonrpc": "2.0", "id": 1, "result": {}}
    note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}
    others = [note, *({"jsonrpc": "2.0", "id": 2, "result": text} for text in texts)]
    written = line(others[0]) + line(answer) + b"".join(map(line, others[1:]))
    source, sink = os.pipe()
    stream = _WithoutAnswer(sink, answer)
    for at in range(0, len(written), cut):
        stream.write(written[at : at + cut])
    os.close(sink)
    with os.fdopen(source, "rb") as received:
        assert received.read() == b"".join(map(line, others))


def test_another_answer_of_the_sdk_is_loud():
    stream = _WithoutAnswer(1, {"jsonrpc": "2.0", "id": 1, "result": {"a": 1}})
    with pytest.raises(RuntimeError, match="shakes hands in another way"):
        stream.write(line({"jsonrpc": "2.0", "id": 1, "result": {"a": 2}}))


def talk(environment, *messages):
    """Start the server as an agent does; the answers by the number of the request."""
    with subprocess.Popen(
        [COMMAND, "mcp"], stdin=-1, stdout=-1, stderr=-1, env=environment, cwd="/"
    ) as server:
        server.stdin.write(b"".join(map(line, messages)))
        server.stdin.flush()
        answers = []
        while len(answers) < sum("id" in message for message in messages):
            answers.append(json.loads(server.stdout.readline()))
        server.stdin.close()
        rest, told = server.stdout.read(), server.stderr.read().decode()
    assert (server.returncode, rest, told) == (0, b"", "")
    return {answer["id"]: answer for answer in answers}


def asks(number, method, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


PICK = {"name": "pick_context", "arguments": {"request": "the borrow checker rejects my struct"}}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def test_an_interruption_ends_it_at_once_and_is_no_fault():
    with subprocess.Popen([COMMAND, "mcp"], stdin=-1, stdout=-1, stderr=-1, cwd="/") as server:
        server.stdin.write(line(initialize("2025-11-25")) + line(READY) + line(asks(2, "tools/list")))
        server.stdin.flush()
        assert server.stdout.readline() and server.stdout.readline()  # it waits for the next call
        server.send_signal(signal.SIGINT)
        # its input stays open, as a terminal's does: the end of that would be an ordinary end
        assert server.wait(timeout=20) == -signal.SIGINT
        assert server.stderr.read() == b""


@pytest.fixture(scope="module")
def environment(engines, small_settings, tmp_path_factory):
    """One background engine for all conversations, gone soon after."""
    folder = tmp_path_factory.mktemp("runtime")
    folder.chmod(0o700)
    kept = {name: value for name, value in os.environ.items() if name.startswith("XDG_") or name == "PATH"}
    return {
        **kept,
        "PS_REGISTRY": str(small_settings.registry),
        "PS_INDEX_DIR": str(small_settings.index_dir),
        "PS_RUNS_DIR": str(folder / "runs"),
        "PS_ENGINE_IDLE_SECONDS": "5",
        "XDG_RUNTIME_DIR": str(folder),
        "HF_HUB_OFFLINE": "1",
    }


@pytest.mark.parametrize("revision", [*REVISIONS, STATELESS_REVISION])
def test_every_revision_is_negotiated_and_its_tools_work(environment, revision):
    if revision == STATELESS_REVISION:
        answers = talk(
            environment,
            discover(1),
            asks(2, "tools/list", _meta=ENVELOPE),
            asks(3, "tools/call", **PICK, _meta=ENVELOPE),
        )
        assert answers[1]["result"]["supportedVersions"] == [revision]
    else:
        hello = initialize(revision)
        answers = talk(environment, hello, READY, asks(2, "tools/list"), asks(3, "tools/call", **PICK))
        assert answers[1]["result"]["protocolVersion"] == revision
    assert [tool["name"] for tool in answers[2]["result"]["tools"]] == [
        "pick_context",
        "list_skills",
        "get_skill",
    ]
    picked = answers[3]["result"]
    assert not picked.get("isError") and "<<END-" in picked["content"][0]["text"]
    if revision >= "2025-06-18":  # which brought structured results
        assert picked["structuredContent"]["skills"] == ["rust-build-errors"]


def test_what_comes_before_a_handshake_is_answered_by_the_sdk(environment):
    answers = talk(environment, asks(1, "ping"), initialize("2025-06-18", 2), READY, asks(3, "tools/list"))
    assert answers[1]["result"] == {}
    assert answers[2]["result"]["protocolVersion"] == "2025-06-18"
    assert len(answers[3]["result"]["tools"]) == 3


def test_a_setting_that_does_not_exist_is_told_at_the_first_call(environment):
    hello = [initialize("2025-06-18"), READY]
    answers = talk({**environment, "PS_NOPE": "1"}, *hello, asks(2, "tools/call", **PICK))
    told = answers[2]["result"]
    assert told["isError"] and "There is no setting PS_NOPE" in told["content"][0]["text"]
