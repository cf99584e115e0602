"""`pickysteve connect` as a user meets it: real processes in a home of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = str(Path(sys.executable).parent / "pickysteve")
CONFIG = 'model = "x" # mine\n'


@pytest.fixture
def home(tmp_path):
    """A home with Codex and Claude Code in it, and no program on PATH."""
    for folder in (".codex", ".claude", "work", "bin"):
        (tmp_path / folder).mkdir()
    (tmp_path / ".codex" / "config.toml").write_text(CONFIG)
    return tmp_path


@pytest.fixture
def connect(home):
    def run(*words):
        return subprocess.run(
            [COMMAND, "connect", *words],
            env={"HOME": str(home), "PATH": str(home / "bin"), "COLUMNS": "200"},
            cwd=home / "work",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def changes(done):
    return {one["agent"]: one["change"] for one in json.loads(done.stdout)}


def test_the_list_shows_what_is_here(connect, home):
    before = files(home)
    done = connect("--list", "--json")
    found = {one["agent"]: one for one in json.loads(done.stdout)}
    assert len(found) == 18 and found["codex"]["file"] == str(home / ".codex" / "config.toml")
    assert {name for name, one in found.items() if one["found"]} == {"codex", "claude-code"}
    assert not any(one["connected"] for one in found.values())
    assert "zeroclaw" in connect().stdout
    assert files(home) == before


def test_all_connects_what_is_here_and_uninstall_gives_it_back(connect, home):
    before = files(home)
    assert changes(connect("--all", "--json")) == {"claude-code": "connect", "codex": "connect"}
    entry = json.loads((home / ".claude.json").read_text())["mcpServers"]["pickysteve"]
    assert entry == {"type": "stdio", "command": COMMAND, "args": ["mcp"]}
    assert changes(connect("--all", "--json")) == {"claude-code": "nothing", "codex": "nothing"}
    assert connect("doctor").returncode == 0
    assert changes(connect("--all", "--uninstall", "--json")) == {
        "claude-code": "disconnect",
        "codex": "disconnect",
    }
    ours = {name for name in files(home) if name.startswith(".local/share/pickysteve/")}
    assert {name: text for name, text in files(home).items() if name not in ours} == before
    assert connect("--all", "--uninstall").stdout == "No agent is connected.\n"


def test_a_dry_run_prints_the_diff_and_writes_nothing(connect, home):
    before = files(home)
    done = connect("--agent", "codex", "--dry-run")
    assert "+[mcp_servers.pickysteve]" in done.stdout and "would connect" in done.stdout
    assert files(home) == before


def test_what_a_file_holds_moves_no_cursor(connect, home):
    (home / ".codex" / "config.toml").write_text("# \N{RIGHT-TO-LEFT OVERRIDE}\na\t= 1\n")
    done = connect("--agent", "codex", "--dry-run")
    assert " # \\u202e\n a\t= 1\n" in done.stdout


def test_an_agent_that_is_named_is_connected_also_when_it_is_not_here(connect, home):
    assert changes(connect("--agent", "copilot", "--agent", "goose", "--json")) == {
        "goose": "connect",
        "copilot": "connect",
    }
    assert (home / ".copilot" / "mcp-config.json").exists() and not (home / ".config" / "Code").exists()


def test_a_project_file_is_written_in_this_folder(connect, home):
    done = connect("--agent", "cursor", "--project")
    assert done.returncode == 0 and (home / "work" / ".cursor" / "mcp.json").exists()
    assert connect("--agent", "cursor", "--project", "--uninstall").returncode == 0
    assert list((home / "work").iterdir()) == []


def test_an_agent_without_a_file_gets_its_steps(connect):
    done = connect("--agent", "aider")
    assert done.returncode == 0 and "  1. Start the proxy" in done.stdout


def test_one_broken_file_does_not_stop_the_others(connect, home):
    (home / ".claude.json").write_text("{,}")
    done = connect("--all")
    assert done.returncode == 2
    assert "Codex: connected" in done.stdout
    assert done.stderr.startswith('pickysteve: "') and "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_doctor_tells_what_is_wrong_and_exits_with_two(connect, home):
    connect("--agent", "codex")
    file = home / ".codex" / "config.toml"
    file.write_text(file.read_text().replace(COMMAND, "/gone/pickysteve"))
    done = connect("doctor")
    assert done.returncode == 2 and "not there any more" in done.stdout
    assert connect("--agent", "codex").returncode == 0
    assert connect("doctor", "--agent", "codex", "--json").returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--agent", "clippy"), "There is no agent"),
        (("--uninstall",), "pass --all or --agent"),
        (("--dry-run",), "pass --all or --agent"),
        (("--agent", "hermes", "--project"), "leave --project out"),
    ],
)
def test_a_mistake_is_one_sentence(connect, words, said):
    done = connect(*words)
    assert done.returncode == 2 and said in done.stderr and len(done.stderr.splitlines()) == 1


def test_the_server_is_started_as_an_agent_would(engines, small_settings, home, connect):
    connect("--agent", "codex")
    variables = {
        **{name: value for name, value in os.environ.items() if name.startswith("XDG_")},
        **{f"PS_{n.upper()}": getattr(small_settings, n) for n in ("registry", "index_dir", "runs_dir")},
        "PS_ENGINE_IDLE_SECONDS": "2",
        "XDG_RUNTIME_DIR": home,
    }
    lines = [f"{name} = {json.dumps(str(value))}\n" for name, value in variables.items()]
    with (home / ".codex" / "config.toml").open("a") as file:
        file.write("\n[mcp_servers.pickysteve.env]\n" + "".join(lines))
    done = connect("doctor", "--probe", "--json")
    (found,) = json.loads(done.stdout)
    assert (done.returncode, found["problems"]) == (0, [])
    assert found["probe"]["skills"] == len(engines.index.skills)
    assert "pick_context" in found["probe"]["tools"]


def test_the_page_of_agents_is_printed(connect):
    assert connect("--docs").stdout.startswith("# Agents\n")
