"""What is distributed: one package, nothing beside it."""

import subprocess
import sys
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
