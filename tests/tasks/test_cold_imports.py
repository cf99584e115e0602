from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

HEAVY = ("torch", "transformers", "prefect", "sentence_transformers", "sklearn", "scipy", "pandas", "onnx")
CLIENTS = ("openai", "ollama", "httpx", "httpx2")
SCRIPT = """
import json, sys
from pathlib import Path
from pickysteve.flows.dag import pick_context
from pickysteve.flows.engines import open_engines
from pickysteve.flows.settings import load_settings
from pickysteve.tasks.stage import Direct
from pickysteve.tasks.values import Request

registry, index_dir, runs_dir = map(Path, sys.argv[2:])
settings = load_settings(registry=registry, index_dir=index_dir, runs_dir=runs_dir)
request = Request(text=sys.argv[1])
trace = pick_context(request, open_engines(settings), settings, Direct())
print(json.dumps({"status": trace.pick.status, "stages": len(trace.stages), "modules": sorted(sys.modules)}))
"""


def test_a_direct_pick_imports_nothing_heavy(engines, small_settings, tmp_path: Path) -> None:
    places = (small_settings.registry, small_settings.index_dir, tmp_path / "runs")
    text = engines.index.skills["rust-build-errors"].examples[0].text
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, text, *map(str, places)],
        env=dict(os.environ),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    answer = json.loads(run.stdout)
    assert (answer["status"], answer["stages"]) == ("ok", 11)
    assert [name for name in HEAVY + CLIENTS if name in answer["modules"]] == []
