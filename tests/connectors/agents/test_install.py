"""Round trips: every agent, every system, files as users have them."""

import stat

import json5
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pickysteve.connectors.agents.doctor import examine, is_connected
from pickysteve.connectors.agents.install import apply, plan_connect, plan_disconnect
from pickysteve.connectors.agents.records import recall
from pickysteve.connectors.agents.server import ServerCommand
from pickysteve.errors import AgentConfigInvalid

from .conftest import COMMANDS, FILES, NOW, tree, write
from .samples import JSON, KINDS, MARK, SAMPLES, TOML, contents, damaged


@pytest.mark.parametrize("system", COMMANDS)
@pytest.mark.parametrize(("name", "index"), FILES)
def test_every_agent_is_connected_and_given_back_byte_for_byte(place, tmp_path, name, index, system):
    server = ServerCommand(COMMANDS[system])
    one = place(name, index, system)
    for title, content in contents(one.target.format):
        write(one, content)
        before = tree(tmp_path)
        assert not is_connected(one, server), title
        assert apply(plan_connect(one, server), NOW).verb == "connect", title
        assert is_connected(one, server)
        # the command of another system is not there to be run; all else is as the doctor wants it
        (problem,) = examine(one, server).problems
        assert "command" in problem and "entry" not in problem, title
        written = one.path.read_bytes()
        assert plan_connect(one, server).verb == "nothing", title
        assert written.startswith(MARK) == (content or b"").startswith(MARK), title
        assert (b"\n" in written.replace(b"\r\n", b"")) == (b"\r\n" not in (content or b"")), title
        assert apply(plan_disconnect(one, server), NOW).verb == "disconnect", title
        assert tree(tmp_path) == before, title
        one.path.unlink(missing_ok=True)


@pytest.mark.parametrize(("name", "index"), FILES)
def test_what_the_user_changed_since_stays_when_our_entry_goes(place, server, name, index):
    one = place(name, index)
    content = SAMPLES[one.target.format][0]
    write(one, content)
    apply(plan_connect(one, server), NOW)
    changed = one.path.read_bytes().replace(b"gh-mcp", b"gitlab-mcp")
    one.path.write_bytes(changed)
    done = apply(plan_disconnect(one, server), NOW)
    assert one.path.read_bytes() == content.replace(b"gh-mcp", b"gitlab-mcp")
    assert done.copy is not None and done.copy.read_bytes() == changed


NESTED = b"""\
{
  // newest form
  "mcp": {
    "servers": {
      "github": { "command": ["gh-mcp"] },
    },
  },
}
"""


def test_a_file_in_opencodes_newest_form_gets_its_entry_where_its_servers_are(place, server):
    one = place("opencode")
    write(one, NESTED)
    apply(plan_connect(one, server), NOW)
    servers = json5.loads(one.path.read_text())["mcp"]["servers"]
    assert servers["pickysteve"] == {"type": "local", "command": [server.command, "mcp"], "enabled": True}
    assert list(json5.loads(one.path.read_text())["mcp"]) == ["servers"]
    (problem,) = examine(one, server).problems  # the command of the example is not installed here
    assert "not there any more" in problem and is_connected(one, server)
    one.path.write_bytes(one.path.read_bytes().replace(b"gh-mcp", b"gitlab-mcp"))
    apply(plan_disconnect(one, server), NOW)
    assert one.path.read_bytes() == NESTED.replace(b"gh-mcp", b"gitlab-mcp")


@pytest.mark.parametrize(
    "content",
    [
        b'{"mcp": {"servers": {"type": "local", "command": ["a"]}}}',
        b'{"mcp": {"pickysteve": {"command": ["/old"]}, "servers": {"github": {"command": ["a"]}}}}',
    ],
    ids=["a server that is called servers", "an entry of ours in the older form"],
)
def test_other_opencode_files_keep_the_older_form(place, server, content):
    one = place("opencode")
    write(one, content)
    apply(plan_connect(one, server), NOW)
    data = json5.loads(one.path.read_text())["mcp"]
    assert data["pickysteve"]["command"] == [server.command, "mcp"]
    assert "pickysteve" not in data["servers"]


def test_a_copy_with_the_time_is_kept_and_a_second_one_gets_a_number(place, server):
    one = place("codex")
    write(one, TOML)
    first = apply(plan_connect(one, server), NOW).copy
    assert first.name == "config.toml.pickysteve-20261130T123456.bak" and first.read_bytes() == TOML
    one.path.write_bytes(TOML + b"# again\n")
    second = apply(plan_connect(one, server), NOW).copy
    assert second.name == "config.toml.pickysteve-20261130T123456-2.bak"


def test_a_dry_run_shows_the_diff_and_writes_nothing(place, server, tmp_path):
    one = place("codex")
    write(one, b'model = "x"')
    before = tree(tmp_path)
    diff = plan_connect(one, server).diff()
    assert "+[mcp_servers.pickysteve]\n" in diff and "\\ No newline at end of file" in diff
    assert tree(tmp_path) == before


def test_a_moved_command_is_brought_up_to_date_and_the_way_back_stays(place, server):
    one = place("claude-code")
    write(one, JSON)
    apply(plan_connect(one, server), NOW)
    moved = ServerCommand("/elsewhere/pickysteve")
    assert apply(plan_connect(one, moved), NOW).verb == "update"
    assert b"/elsewhere/pickysteve" in one.path.read_bytes()
    apply(plan_disconnect(one, moved), NOW)
    assert one.path.read_bytes() == JSON


def test_an_update_on_top_of_the_users_edit_never_brings_the_older_file_back(place, server):
    one = place("claude-code")
    write(one, JSON)
    apply(plan_connect(one, server), NOW)
    one.path.write_bytes(one.path.read_bytes().replace(b"dark", b"light"))
    moved = ServerCommand("/elsewhere/pickysteve")
    apply(plan_connect(one, moved), NOW)
    apply(plan_disconnect(one, moved), NOW)
    assert one.path.read_bytes() == JSON.replace(b"dark", b"light")


def test_an_entry_that_we_have_no_record_of_is_taken_out_too(place, server):
    one = place("cursor")
    write(one, b'{"mcpServers": {"pickysteve": {"command": "/old/pickysteve", "args": ["mcp"]}, "x": {}}}')
    apply(plan_disconnect(one, server), NOW)
    assert one.path.read_bytes() == b'{"mcpServers": {"x": {}}}'


def test_a_forged_record_is_not_followed(place, server, tmp_path):
    one = place("codex")
    write(one, TOML)
    copy = apply(plan_connect(one, server), NOW).copy
    copy.write_bytes(b"planted = true\n")
    apply(plan_disconnect(one, server), NOW)
    assert one.path.read_bytes() == TOML


def test_a_record_that_somebody_else_wrote_does_not_count(place, server):
    from pickysteve.connectors.agents import records

    one = place("codex")
    write(one, TOML)
    apply(plan_connect(one, server), NOW)
    file = records._place(one.real)
    file.write_text(file.read_text().replace('"folders":[]', '"folders":["/"]'))
    assert recall(one.real) is None
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("form", KINDS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_a_file_holds_it_is_refused_untouched_or_comes_back_byte_for_byte(place, server, form, data):
    content = data.draw(damaged(form))
    one = place(KINDS[form])
    write(one, content)
    try:
        change = plan_connect(one, server)
    except AgentConfigInvalid:
        assert one.path.read_bytes() == content
        return
    if change.verb == "nothing":
        return
    apply(change, NOW)
    assert is_connected(one, server) and plan_connect(one, server).verb == "nothing"
    apply(plan_disconnect(one, server), NOW)
    if change.verb == "connect":
        assert one.path.read_bytes() == content
    else:  # an entry of another command was there: it is gone as well
        assert not is_connected(one, server)


@pytest.mark.parametrize(("name", "content"), [
    ("claude-code", b'{"a": 1,}'),
    ("codex", b"a = \n"),
    ("goose", b"a: [\n"),
    ("openclaw", b"{a: 1,,}"),
    ("cursor", "{}".encode("utf-16")),
    ("cursor", b'{"mcpServers": []}'),
    ("cursor", b'{"a": ' + b"[" * 700 + b"]" * 700 + b"}"),
])  # fmt: skip
def test_a_file_that_is_not_valid_is_refused_with_one_sentence(place, server, name, content):
    one = place(name)
    write(one, content)
    with pytest.raises(AgentConfigInvalid) as caught:
        plan_connect(one, server)
    said = str(caught.value)
    assert said.startswith(f'"{one.path}" was left as it is') and "\n" not in said
    assert one.path.read_bytes() == content
    assert not is_connected(one, server)


def test_a_command_whose_path_is_no_text_is_refused(place):
    with pytest.raises(AgentConfigInvalid, match="not UTF-8"):
        plan_connect(place("cursor"), ServerCommand("/opt/\udcff/pickysteve"))
