"""What is distributed: one package, nothing beside it."""

import json
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile

import pytest


@pytest.fixture(scope="module")
def wheel(pytestconfig, tmp_path_factory):
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out)]
    subprocess.run([*command, str(pytestconfig.rootpath)], check=True, capture_output=True)
    (path,) = out.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_holds_only_the_package(wheel):
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"pickysteve"}


def test_the_wheel_holds_code_skills_fits_and_the_typing_mark(wheel):
    names = set(wheel.namelist())
    assert {
        "pickysteve/py.typed",
        "pickysteve/flows/dag.py",
        "pickysteve/connectors/http/live/icon.svg",
        "pickysteve/connectors/http/live/page.css",
        "pickysteve/connectors/http/live/page.html",
        "pickysteve/connectors/http/live/page.js",
        "pickysteve/flows/report/page.html",
        "pickysteve/flows/report/page.css",
        "pickysteve/flows/report/graph.html",
        "pickysteve/tasks/engines/embedder.py",
        "pickysteve/calibration/embedded.json",
        "pickysteve/tasks/prompts/adjudicator.md",
        "pickysteve/tasks/prompts/enricher.md",
        "pickysteve/registry/skills/confusions.yaml",
        "pickysteve/registry/skills/rust-review/SKILL.md",
        "pickysteve/registry/skills/rust-review/examples.yaml",
        "pickysteve/registry/skills/rag-architecture/reranking.md",
    } <= names


def test_the_command_is_installed(wheel):
    (entry,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    assert "pickysteve = pickysteve.connectors.entry:main" in wheel.read(entry).decode()


# What is published about the server, and a clean install of the wheel that has to be reached by it.

PUBLISHED = {
    ".mcp.json": lambda file: file["mcpServers"]["pickysteve"],
    ".claude-plugin/pickysteve/.claude-plugin/plugin.json": lambda file: file["mcpServers"]["pickysteve"],
    "server.json": lambda file: {
        "command": file["packages"][0]["identifier"],
        "args": [one["value"] for one in file["packages"][0]["packageArguments"]],
    },
}
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


@pytest.fixture(scope="module")
def clean_install(wheel, tmp_path_factory):
    """An environment that has the wheel alone; what it depends on is borrowed from this one."""
    home = tmp_path_factory.mktemp("clean")
    venv.create(home)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(home),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run([*pip, wheel.filename], check=True, capture_output=True)
    (packages,) = (home / "lib").glob("python*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin"


@pytest.mark.parametrize("path", PUBLISHED)
def test_a_clean_install_connects_as_published(clean_install, pytestconfig, path):
    entry = PUBLISHED[path](json.loads((pytestconfig.rootpath / path).read_text(encoding="utf-8")))
    messages = [
        {"id": 1, "method": "initialize", "params": HELLO},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]
    with subprocess.Popen(
        [shutil.which(entry["command"], path=str(clean_install)), *entry["args"]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PATH": str(clean_install), "HOME": str(clean_install)},
        cwd=clean_install,
        text=True,
    ) as server:
        for message in messages:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()
        hello, tools = (json.loads(server.stdout.readline()) for _ in range(2))
        server.stdin.close()
    assert server.wait() == 0
    assert hello["result"]["serverInfo"]["name"] == "pickysteve"
    assert "pick_context" in [tool["name"] for tool in tools["result"]["tools"]]
