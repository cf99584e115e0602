"""What is published starts what an installation puts on PATH: plugin, project file, registry entry."""

import json
import re
import tomllib

import pytest

SERVER = {"command": "pickysteve", "args": ["mcp"]}


@pytest.fixture
def read(pytestconfig):
    return lambda path: json.loads((pytestconfig.rootpath / path).read_text(encoding="utf-8"))


@pytest.fixture
def project(pytestconfig):
    return tomllib.loads((pytestconfig.rootpath / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_marketplace_leads_to_the_plugin_of_this_version(read, project):
    (listed,) = read(".claude-plugin/marketplace.json")["plugins"]
    plugin = read(f"{listed['source']}/.claude-plugin/plugin.json")
    assert (plugin["name"], plugin["version"]) == (listed["name"], project["version"])
    assert plugin["mcpServers"] == {"pickysteve": SERVER}
    assert project["scripts"].keys() == {SERVER["command"]}


def test_the_project_file_starts_the_same(read):
    assert read(".mcp.json")["mcpServers"] == {"pickysteve": {"type": "stdio", **SERVER}}


def test_the_registry_entry_is_of_this_version_and_starts_the_same(read, project):
    entry = read("server.json")
    (package,) = entry["packages"]
    assert entry["version"] == package["version"] == project["version"]
    assert (package["registryType"], package["identifier"]) == ("pypi", project["name"])
    # uvx runs the command that is named like the package
    assert project["scripts"].keys() == {package["identifier"]} == {SERVER["command"]}
    assert [(one["type"], one["value"]) for one in package["packageArguments"]] == [
        ("positional", word) for word in SERVER["args"]
    ]


def test_the_registry_entry_keeps_the_bounds_of_its_schema(read):
    entry = read("server.json")
    assert entry["$schema"].endswith("/2025-12-11/server.schema.json")
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"])
    assert 1 <= len(entry["description"]) <= 100 and 1 <= len(entry["title"]) <= 100
    assert re.fullmatch(r"\d+\.\d+\.\d+", entry["version"])
    assert entry["packages"][0]["transport"] == {"type": "stdio"}
    # packages come from where they always come from; a mirror would be refused
    assert "registryBaseUrl" not in entry["packages"][0]
