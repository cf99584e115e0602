"""A real server process is asked for its tools; whatever it does, the answer comes in time and in words."""

import time

import pytest

from pickysteve.errors import SourceInvalid, SourceUnavailable
from pickysteve.registry.sources.mcp_client import ask_server


def test_every_page_is_read_by_a_server_that_sees_no_variable_but_those_named(
    tool_server, monkeypatch
) -> None:
    monkeypatch.setenv("PS_TOLD", "told")
    monkeypatch.setenv("PS_UNTOLD", "secret")
    snapshot = ask_server(tool_server(), ["PS_TOLD"])
    assert [tool.name for tool in snapshot.tools] == ["read_file", "write_file", "list_folder"]
    assert snapshot.server == "Files & More"
    first = snapshot.tools[0]
    assert (first.title, first.description) == ("A tool", "It sees PS_TOLD=told, PS_UNTOLD=nothing.")
    assert first.input_schema["properties"]["path"]["description"] == "Which file."


@pytest.mark.parametrize(
    ("manner", "said"),
    [
        ("dies", "cannot open the database"),
        ("babbles", "within 2 seconds"),
        ("hangs", "within 2 seconds"),
    ],
)
def test_a_server_that_does_not_answer_is_told_in_a_sentence(tool_server, manner: str, said: str) -> None:
    started = time.monotonic()
    with pytest.raises(SourceUnavailable, match=said) as caught:
        ask_server(tool_server(manner), max_seconds=2 if manner != "dies" else 30)
    assert str(caught.value).endswith("start it by hand to see why.")
    # generous: the limit, the SDK's own wait for the process, and a busy machine
    assert time.monotonic() - started < 40


@pytest.mark.parametrize("manner", ["endless", "huge"])
def test_a_server_without_end_is_refused(tool_server, manner: str) -> None:
    with pytest.raises(SourceUnavailable, match="offers over"):
        ask_server(tool_server(manner))


def test_a_variable_that_is_not_set_is_told_before_the_server_starts(tool_server) -> None:
    with pytest.raises(SourceInvalid, match="NO_SUCH_VARIABLE is not set"):
        ask_server(tool_server(), ["NO_SUCH_VARIABLE"])


@pytest.mark.parametrize("command", [(), ("no-such-command-here",), ("/",)])
def test_a_command_that_is_none_is_told(command: tuple[str, ...]) -> None:
    with pytest.raises(SourceUnavailable, match="There is no command"):
        ask_server(command)
