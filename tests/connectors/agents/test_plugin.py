"""Claude Code's plugin and this repository's project file start what an installation puts on PATH."""

import json
import tomllib

import pytest

SERVER = {"command": "pickysteve", "args": ["mcp"]}


@pytest.fixture
def read(pytestconfig):
    return lambda path: json.loads((pytestconfig.rootpath / path).read_text(encoding="utf-8"))


def test_the_marketplace_leads_to_the_plugin_of_this_version(read, pytestconfig):
    (listed,) = read(".claude-plugin/marketplace.json")["plugins"]
    plugin = read(f"{listed['source']}/.claude-plugin/plugin.json")
    project = tomllib.loads((pytestconfig.rootpath / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (plugin["name"], plugin["version"]) == (listed["name"], project["version"])
    assert plugin["mcpServers"] == {"pickysteve": SERVER}
    assert project["scripts"].keys() == {SERVER["command"]}


def test_the_project_file_starts_the_same(read):
    assert read(".mcp.json")["mcpServers"] == {"pickysteve": {"type": "stdio", **SERVER}}
