"""Round trips: every agent, every system, files as users have them."""

import os
import stat
from datetime import UTC, datetime

import pytest

from pickysteve.connectors.agents.doctor import examine, is_connected
from pickysteve.connectors.agents.install import apply, plan_connect, plan_disconnect, read_place
from pickysteve.connectors.agents.records import recall
from pickysteve.connectors.agents.server import ServerCommand
from pickysteve.connectors.agents.table import agents
from pickysteve.errors import AgentConfigInvalid

from .conftest import COMMANDS
from .samples import JSON, MARK, SAMPLES, TOML, contents

NOW = datetime(2026, 11, 30, 12, 34, 56, tzinfo=UTC)
FILES = [(one.id, index) for one in agents() for index in range(len(one.targets))]


def write(place, content):
    if content is not None:
        place.path.parent.mkdir(parents=True, exist_ok=True)
        place.path.write_bytes(content)


def tree(folder):
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize("system", COMMANDS)
@pytest.mark.parametrize(("name", "index"), FILES)
def test_every_agent_is_connected_and_given_back_byte_for_byte(place, tmp_path, name, index, system):
    server = ServerCommand(COMMANDS[system])
    one = place(name, index, system)
    for title, content in contents(one.target.format, every=system == "linux"):
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


def test_a_linked_dotfile_stays_a_link_and_its_target_is_edited(place, server, tmp_path):
    one = place("gemini-cli")
    target = tmp_path / "dotfiles" / "settings.json"
    target.parent.mkdir()
    target.write_bytes(JSON)
    one.path.parent.mkdir(parents=True)
    one.path.symlink_to(target)
    apply(plan_connect(one, server), NOW)
    assert one.path.is_symlink() and b"pickysteve" in target.read_bytes()
    apply(plan_disconnect(one, server), NOW)
    assert one.path.is_symlink() and target.read_bytes() == JSON


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_the_mode_stays(place, server, mode):
    one = place("codex")
    write(one, TOML)
    one.path.chmod(mode)
    copy = apply(plan_connect(one, server), NOW).copy
    assert stat.S_IMODE(one.path.stat().st_mode) == stat.S_IMODE(copy.stat().st_mode) == mode


def test_a_new_file_is_for_its_owner_alone(place, server):
    one = place("kimi-code")
    apply(plan_connect(one, server), NOW)
    assert stat.S_IMODE(one.path.stat().st_mode) == 0o600


def test_a_read_only_file_is_refused_and_nothing_is_left_beside_it(place, server, tmp_path):
    one = place("codex")
    write(one, TOML)
    one.path.chmod(0o444)
    before = tree(tmp_path)
    with pytest.raises(AgentConfigInvalid, match="read-only"):
        apply(plan_connect(one, server), NOW)
    assert tree(tmp_path) == before


def test_a_file_that_changes_during_the_edit_is_left_alone(place, server, tmp_path):
    one = place("codex")
    write(one, TOML)
    change = plan_connect(one, server)
    one.path.write_bytes(TOML + b"# the agent wrote this\n")
    before = tree(tmp_path)
    with pytest.raises(AgentConfigInvalid, match="changed in the meantime"):
        apply(change, NOW)
    assert tree(tmp_path) == before


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


def test_a_project_file_that_leads_out_of_the_project_is_refused(place, server, tmp_path):
    one = place("claude-code", 1)
    secret = tmp_path / "bashrc"
    secret.write_bytes(b"{}")
    one.path.parent.mkdir()
    one.path.symlink_to(secret)
    with pytest.raises(AgentConfigInvalid, match="leads out"):
        plan_connect(one, server)


def test_a_link_to_nothing_and_a_folder_are_refused(place, server, tmp_path):
    one = place("codex")
    one.path.mkdir(parents=True)
    with pytest.raises(AgentConfigInvalid, match="no file"):
        plan_connect(one, server)
    one.path.rmdir()
    one.path.symlink_to(tmp_path / "gone")
    with pytest.raises(AgentConfigInvalid, match="link to nothing"):
        plan_connect(one, server)


def test_what_somebody_put_into_a_folder_that_we_made_keeps_it(place, server):
    one = place("kimi-code")
    apply(plan_connect(one, server), NOW)
    (one.path.parent / "theirs").write_text("x")
    apply(plan_disconnect(one, server), NOW)
    assert [path.name for path in one.path.parent.iterdir()] == ["theirs"]


def test_a_file_that_nobody_can_open_is_a_sentence(place, server, monkeypatch):
    one = place("codex")
    write(one, TOML)
    if os.geteuid() == 0:
        pytest.skip("root opens every file")
    one.path.chmod(0)
    with pytest.raises(AgentConfigInvalid, match="permissions"):
        read_place(one, server)
