"""The doctor: what it finds in a file, and a real server that it starts as an agent would."""

import json
import sys
import textwrap
from datetime import UTC, datetime

import pytest

from pickysteve.connectors.agents.doctor import examine
from pickysteve.connectors.agents.install import apply, plan_connect
from pickysteve.connectors.agents.probe import probe
from pickysteve.connectors.agents.server import ServerCommand

NOW = datetime(2026, 11, 30, tzinfo=UTC)
SERVER = """
    import os, time
    from mcp.server.mcpserver import MCPServer
    server = MCPServer("pickysteve", log_level="WARNING")

    @server.tool()
    def list_skills(limit: int) -> dict[str, int]:
        return {"total": int(os.environ.get("SKILLS", "3"))}

    time.sleep(float(os.environ.get("WAIT", "0")))
    server.run("stdio")
"""


@pytest.fixture
def running(tmp_path):
    """A small real server in the place of ours: it needs no models."""
    script = tmp_path / "server.py"
    script.write_text(textwrap.dedent(SERVER))
    return ServerCommand(sys.executable, (str(script),))


@pytest.fixture
def connect(place, running):
    def work(name, **options):
        one = place(name, **options)
        apply(plan_connect(one, running), NOW)
        return one

    return work


@pytest.mark.parametrize("name", ["claude-code", "codex", "goose", "opencode", "cline", "zeroclaw"])
def test_what_we_wrote_is_well(connect, running, name):
    found = examine(connect(name), running)
    assert (found.problems, found.server, found.probe) == ((), running, None)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda entry: entry.update(command="pickysteve"), "not absolute"),
        (lambda entry: entry.update(command="/gone/pickysteve"), "not there any more"),
        (lambda entry: entry.update(command=entry["args"][0]), "cannot be run"),
        (lambda entry: entry.update(args=["serve"]), "not what we would write (args)"),
        (lambda entry: entry.pop("type"), "not what we would write (type)"),
        (lambda entry: (entry.clear(), entry.update(url="http://x")), "names no command"),
    ],
)
def test_each_problem_is_named_with_what_mends_it(connect, running, change, said):
    one = connect("claude-code")
    data = json.loads(one.path.read_text())
    change(data["mcpServers"]["pickysteve"])
    one.path.write_text(json.dumps(data))
    (problem,) = examine(one, running).problems
    assert said in problem and ("pickysteve connect --agent claude-code" in problem or "chmod" in problem)


def test_no_entry_and_a_broken_file_are_problems(place, running):
    one = place("codex")
    assert "There is no entry" in examine(one, running).problems[0]
    one.path.parent.mkdir(parents=True)
    one.path.write_text("a = \n")
    assert "left as it is" in examine(one, running).problems[0]


def test_settings_of_this_shell_that_an_agent_may_not_hand_on_are_a_remark(connect, running, monkeypatch):
    monkeypatch.setenv("PS_REGISTRY", "/somewhere")
    (remark,) = examine(connect("codex"), running).remarks
    assert "PS_REGISTRY" in remark and "config.toml" in remark


def test_the_probe_starts_the_command_of_the_file_and_calls_a_tool(connect, running):
    found = examine(connect("goose"), running, start=True)
    assert found.problems == ()
    assert (found.probe.name, found.probe.tools, found.probe.skills) == ("pickysteve", ("list_skills",), 3)
    assert min(found.probe.handshake, found.probe.listing, found.probe.call) > 0


def test_the_probe_uses_the_variables_of_the_entry(running):
    assert probe(ServerCommand(running.command, running.arguments, (("SKILLS", "7"),))).skills == 7


def test_a_slow_handshake_is_a_remark_where_the_agent_would_lose_tools(connect, running):
    one = connect("codex")
    one.path.write_text(one.path.read_text() + '\n[mcp_servers.pickysteve.env]\nWAIT = "0.6"\n')
    found = examine(one, running, start=True)
    assert found.problems == () and "may lose tools after 500 ms" in found.remarks[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-c", "import sys; sys.exit('boom: no model')"), "boom: no model"),
        (("-c", "print('hello')"), "closed"),
    ],
)
def test_a_server_that_does_not_answer_is_a_problem_with_its_last_words(arguments, said):
    with pytest.raises(ConnectionError, match=said):
        probe(ServerCommand(sys.executable, arguments))
