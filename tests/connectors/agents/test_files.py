"""Files of agents: links stay links, modes stay, what is read-only or changes is left alone."""

import os
import stat

import pytest

from pickysteve.connectors.agents.install import apply, plan_connect, plan_disconnect, read_place
from pickysteve.connectors.agents.table import agent
from pickysteve.errors import AgentConfigInvalid

from .conftest import FILES, NOW, tree, write
from .samples import SAMPLES, TOML

USER_FILES = [(name, index) for name, index in FILES if agent(name).targets[index].scope == "user"]


@pytest.mark.parametrize(("name", "index"), USER_FILES)
def test_a_linked_dotfile_stays_a_link_and_its_target_is_edited(place, server, tmp_path, name, index):
    one = place(name, index)
    content = SAMPLES[one.target.format][-1]
    target = tmp_path / "dotfiles" / one.path.name
    target.parent.mkdir()
    target.write_bytes(content)
    one.path.parent.mkdir(parents=True)
    one.path.symlink_to(target)
    apply(plan_connect(one, server), NOW)
    assert one.path.is_symlink() and b"pickysteve" in target.read_bytes()
    apply(plan_disconnect(one, server), NOW)
    assert one.path.is_symlink() and target.read_bytes() == content


@pytest.mark.parametrize(("name", "index"), USER_FILES)
def test_a_linked_folder_of_dotfiles_stays_a_link_too(place, server, tmp_path, name, index):
    one = place(name, index)
    content = SAMPLES[one.target.format][0]
    folder = tmp_path / "dotfiles"
    folder.mkdir()
    one.path.parent.parent.mkdir(parents=True, exist_ok=True)
    if one.path.parent.exists():
        pytest.skip("the file stands in the home itself")
    one.path.parent.symlink_to(folder)
    write(one, content)
    apply(plan_connect(one, server), NOW)
    assert b"pickysteve" in (folder / one.path.name).read_bytes()
    apply(plan_disconnect(one, server), NOW)
    assert one.path.parent.is_symlink() and (folder / one.path.name).read_bytes() == content


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


@pytest.mark.parametrize(("name", "index"), FILES)
def test_a_read_only_file_is_refused_and_nothing_is_left_beside_it(place, server, tmp_path, name, index):
    one = place(name, index)
    write(one, SAMPLES[one.target.format][0])
    one.path.chmod(0o444)
    before = tree(tmp_path)
    with pytest.raises(AgentConfigInvalid, match="read-only"):
        apply(plan_connect(one, server), NOW)
    assert tree(tmp_path) == before


@pytest.mark.parametrize(("name", "index"), FILES)
def test_a_connected_file_that_became_read_only_stays_connected(place, server, tmp_path, name, index):
    one = place(name, index)
    write(one, SAMPLES[one.target.format][0])
    apply(plan_connect(one, server), NOW)
    one.path.chmod(0o444)
    before = tree(tmp_path)
    with pytest.raises(AgentConfigInvalid, match="read-only"):
        apply(plan_disconnect(one, server), NOW)
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
