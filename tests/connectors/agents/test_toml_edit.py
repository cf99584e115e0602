"""TOML text is edited in place: our tables come and go, and nothing else moves."""

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pickysteve.connectors.agents.data import EditRefused
from pickysteve.connectors.agents.edit import connected, disconnected
from pickysteve.connectors.agents.server import ServerCommand, filled
from pickysteve.connectors.agents.table import Entry, agent

ENTRY = Entry(route=("mcp_servers", "pickysteve"), value={"command": "/opt/p", "args": ["mcp"]})
BLOCK = '[mcp_servers.pickysteve]\ncommand = "/opt/p"\nargs = ["mcp"]\n'
ZEROCLAW = filled(agent("zeroclaw").targets[0], ServerCommand("/opt/p"))
LINES = st.sampled_from(
    [
        "# a comment [not.a.table]",
        "",
        "[profiles.x]",
        '[mcp_servers."a.b"]',
        "[[rows]]",
        'long = """\n[mcp_servers.pickysteve]\ncommand = 1\n"""',
        "list = [\n  1, # one\n  2,\n]",
        "key = 'value' # tail",
        "other = 3",
        'dotted.inner = "x"',
    ]
)


def put(text):
    return connected(text.encode(), "toml", (ENTRY,)).decode()


def drop(text, original=None):
    return disconnected(text.encode(), "toml", (ENTRY,), original).decode()


@settings(deadline=None)
@given(st.lists(LINES, max_size=8), st.sampled_from(["\n", "\r\n"]))
def test_any_file_only_grows_and_shrinks_back(lines, newline):
    text = "".join(line + "\n" for line in lines).replace("\n", newline)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    done = put(text)
    data.setdefault("mcp_servers", {})["pickysteve"] = ENTRY.value
    assert tomllib.loads(done) == data
    assert done.startswith(text)
    assert put(done) == done
    assert drop(done) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [("", BLOCK), ("a = 1\n", f"a = 1\n\n{BLOCK}"), ("a = 1", f"a = 1\n\n{BLOCK}")],
)
def test_the_entry_is_a_table_at_the_end(before, after):
    assert put(before) == after


@pytest.mark.parametrize("text", ["\r\na = 1\n", "a = 1\r\nb = 2\n", "a = 1\nb = 2\r\n"])
def test_a_file_with_both_kinds_of_line_breaks_comes_back_as_well(text):
    assert drop(put(text), tomllib.loads(text)) == text


def test_servers_that_are_written_inline_stay_inline():
    done = put('mcp_servers = { x = { command = "y" } } # mine\n')
    assert done.startswith('mcp_servers = { x = { command = "y" }') and done.endswith("} # mine\n")
    assert tomllib.loads(done)["mcp_servers"] == {"x": {"command": "y"}, "pickysteve": ENTRY.value}


def test_comments_and_tables_that_came_after_ours_stay():
    text = put("a = 1\n") + "\n# about x\n[mcp_servers.x]\ncommand = 'y' # why\n"
    assert drop(text) == "a = 1\n\n# about x\n[mcp_servers.x]\ncommand = 'y' # why\n"


def test_tables_below_ours_go_with_it_and_what_the_user_added_stays_on_an_update():
    text = put("") + 'startup_timeout_sec = 20 # mine\n\n[mcp_servers.pickysteve.env]\nA = "b"\n'
    assert drop(text, {}) == ""
    old = text.replace("/opt/p", "/old/p")
    assert put(old) == text


@pytest.mark.parametrize("text", ["a = \n", "[a]\n[a]\n", "mcp_servers = 3\n", "[[mcp_servers]]\nx = 1\n"])
def test_what_is_no_toml_or_no_table_is_refused(text):
    with pytest.raises(EditRefused):
        put(text)


CONFIG = """\
default_provider = "x" # keep

[agents.main]
model = "m" # note

[agents.second]
mcp_bundles = ["files"] # granted

[[mcp.servers]]
name = "files"
command = "npx"

[mcp_bundles.files]
servers = ["files"]
"""


def test_zeroclaw_gets_the_server_the_bundle_and_a_grant_for_every_agent():
    done = connected(CONFIG.encode(), "toml", ZEROCLAW)
    data = tomllib.loads(done.decode())
    assert [server["name"] for server in data["mcp"]["servers"]] == ["files", "pickysteve"]
    assert data["mcp_bundles"]["pickysteve"] == {"servers": ["pickysteve"]}
    assert data["agents"]["main"]["mcp_bundles"] == ["pickysteve"]
    assert data["agents"]["second"]["mcp_bundles"] == ["files", "pickysteve"]
    assert all(line in done.decode().splitlines() for line in CONFIG.splitlines() if "granted" not in line)
    assert connected(done, "toml", ZEROCLAW) == done


def test_zeroclaw_is_given_back_also_after_other_edits():
    done = connected(CONFIG.encode(), "toml", ZEROCLAW)
    changed = done.replace(b'"m"', b'"other"')
    left = disconnected(changed, "toml", ZEROCLAW, tomllib.loads(CONFIG))
    assert left.decode() == CONFIG.replace('"m"', '"other"')


def test_a_server_list_that_is_inline_is_kept_inline():
    text = 'mcp = { servers = [{ name = "a", command = "b" }] } # x\n'
    done = connected(text.encode(), "toml", ZEROCLAW).decode()
    names = [server["name"] for server in tomllib.loads(done)["mcp"]["servers"]]
    assert names == ["a", "pickysteve"] and "# x" in done
