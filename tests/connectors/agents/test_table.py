"""The table: 18 agents, each with a way to be connected, and the right paths on every system."""

from pathlib import PurePosixPath, PureWindowsPath

import pytest

from pickysteve.connectors.agents.machine import Machine
from pickysteve.connectors.agents.server import ServerCommand, filled, started_by
from pickysteve.connectors.agents.table import agent, agents
from pickysteve.errors import AgentUnknown

LINUX = Machine("linux", "/home/ada", {})
MACOS = Machine("macos", "/Users/ada", {})
WINDOWS = Machine("windows", r"C:\Users\ada", {"APPDATA": r"C:\Users\ada\AppData\Roaming"})
TARGETS = [(one, target) for one in agents() for target in one.targets]


def nothing(_):
    return False


def path(machine, name, index=0, exists=nothing):
    return str(machine.config_path(agent(name).targets[index], exists))


def test_there_are_18_agents_and_each_has_files_or_steps():
    assert len({one.id for one in agents()}) == len(agents()) == 18
    assert all(bool(one.targets) != bool(one.steps) for one in agents())


def test_an_unknown_agent_is_a_mistake_that_names_the_known_ones():
    with pytest.raises(AgentUnknown, match="claude-code, codex"):
        agent("clippy")


@pytest.mark.parametrize(
    ("name", "linux", "macos", "windows"),
    [
        ("claude-code", ".claude.json", ".claude.json", ".claude.json"),
        ("codex", ".codex/config.toml", ".codex/config.toml", ".codex/config.toml"),
        ("windsurf",) + (".codeium/windsurf/mcp_config.json",) * 3,
        ("gemini-cli",) + (".gemini/settings.json",) * 3,
        (
            "goose",
            ".config/goose/config.yaml",
            ".config/goose/config.yaml",
            "AppData/Roaming/Block/goose/config/config.yaml",
        ),
        (
            "roo-code",
            ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            "Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings"
            "/mcp_settings.json",
            "AppData/Roaming/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
        ),
        ("opencode",) + (".config/opencode/opencode.jsonc",) * 3,
    ],
)
def test_paths_are_those_of_each_system(name, linux, macos, windows):
    assert path(LINUX, name) == str(PurePosixPath("/home/ada", linux))
    assert path(MACOS, name) == str(PurePosixPath("/Users/ada", macos))
    assert path(WINDOWS, name) == str(PureWindowsPath(r"C:\Users\ada", windows))


@pytest.mark.parametrize(
    ("name", "index", "variables", "expected"),
    [
        ("claude-code", 0, {"CLAUDE_CONFIG_DIR": "/c"}, "/c/.claude.json"),
        ("codex", 0, {"CODEX_HOME": "/c"}, "/c/config.toml"),
        ("codex", 0, {"CODEX_HOME": ""}, "/home/ada/.codex/config.toml"),
        ("cline", 0, {"CLINE_MCP_SETTINGS_PATH": "/c/x.json", "CLINE_DIR": "/d"}, "/c/x.json"),
        ("cline", 0, {"CLINE_DATA_DIR": "/d", "CLINE_DIR": "/e"}, "/d/settings/cline_mcp_settings.json"),
        ("cline", 0, {"CLINE_DIR": "/e"}, "/e/data/settings/cline_mcp_settings.json"),
        ("cline", 1, {"XDG_CONFIG_HOME": "/x"}, "/x/Code/User/globalStorage/saoudrizwan.claude-dev/settings"),
        ("gemini-cli", 0, {"GEMINI_CLI_HOME": "/g"}, "/g/.gemini/settings.json"),
        ("qwen-code", 0, {"QWEN_HOME": "/q"}, "/q/settings.json"),
        ("copilot", 0, {"COPILOT_HOME": "/c"}, "/c/mcp-config.json"),
        ("copilot", 1, {"XDG_CONFIG_HOME": "/x"}, "/x/Code/User/mcp.json"),
        ("opencode", 0, {"XDG_CONFIG_HOME": "/x"}, "/x/opencode/opencode.jsonc"),
        ("opencode", 0, {"OPENCODE_CONFIG": "/o.json"}, "/o.json"),
        ("goose", 0, {"GOOSE_PATH_ROOT": "/g"}, "/g/config/config.yaml"),
        ("goose", 0, {"XDG_CONFIG_HOME": "/x"}, "/x/goose/config.yaml"),
        ("hermes", 0, {"HERMES_HOME": "/h"}, "/h/config.yaml"),
        ("openclaw", 0, {"OPENCLAW_CONFIG_PATH": "/o.json5"}, "/o.json5"),
        ("openclaw", 0, {"OPENCLAW_STATE_DIR": "/o"}, "/o/openclaw.json"),
        ("zeroclaw", 0, {"ZEROCLAW_CONFIG_DIR": "/z"}, "/z/config.toml"),
        ("kimi-code", 0, {"KIMI_CODE_HOME": "/k"}, "/k/mcp.json"),
    ],
)
def test_variables_move_the_file_as_the_agent_itself_reads_them(name, index, variables, expected):
    assert path(Machine("linux", "/home/ada", variables), name, index).startswith(expected)


def test_of_several_files_the_one_that_exists_is_meant():
    plain = PurePosixPath("/home/ada/.config/opencode/opencode.json")
    assert path(LINUX, "opencode", exists=lambda one: one == plain) == str(plain)


def test_a_program_is_here_by_its_binary_or_by_its_own_folder_alone():
    codex = agent("codex").targets[0]
    assert LINUX.has(codex, nothing, lambda name: name == "codex")
    assert LINUX.has(codex, lambda one: str(one) == "/home/ada/.codex", nothing)
    assert not LINUX.has(codex, lambda one: str(one) in ("/home/ada", "/home/ada/.config"), nothing)


@pytest.mark.parametrize(("one", "target"), TARGETS, ids=lambda part: getattr(part, "id", ""))
def test_every_entry_names_an_absolute_command_and_no_folder_to_work_in(one, target):
    server = ServerCommand("/opt/bin/pickysteve")
    entries = filled(target, server)
    assert started_by(target.entries[0].value, entries[0].value) == server
    text = str([entry.value for entry in entries])
    assert "{" not in text.replace("{'", "").replace("{}", "") and "cwd" not in text


@pytest.mark.parametrize(
    ("template", "found", "expected"),
    [
        ({"command": "{command}"}, {"command": "/x", "env": {"K": "v"}}, ("/x", (), (("K", "v"),))),
        ({"command": "{command}"}, {"command": "/x", "args": ["a"]}, ("/x", ("a",), ())),
        ({"command": ["{command}", "{args}"]}, {"command": ["/x", "a"]}, ("/x", ("a",), ())),
        ({"transport": {"command": "{command}"}}, {"transport": {"command": "/x"}}, ("/x", (), ())),
        ({"cmd": "{command}"}, {"cmd": "/x", "args": [], "envs": {"K": 1}}, ("/x", (), (("K", "1"),))),
        ({"command": "{command}"}, {"url": "http://x"}, None),
        ({"command": "{command}"}, {"command": "/x", "args": "mcp"}, None),
        ({"command": ["{command}", "{args}"]}, {"command": []}, None),
        ({"command": "{command}"}, "text", None),
    ],
)  # fmt: skip
def test_what_an_agent_would_start_is_read_from_the_file(template, found, expected):
    assert started_by(template, found) == (ServerCommand(*expected) if expected else None)
