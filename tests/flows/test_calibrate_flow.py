"""The scheduled calibration on a real server: it ends as Completed, with its figures as an artifact."""

import json
import shutil

import pytest
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey
from prefect.client.schemas.sorting import FlowRunSort

from pickysteve.calibration.fitted import read_fitted
from pickysteve.flows.calibrate_flow import calibrate_flow
from pickysteve.flows.server_session import orchestrated_session
from pickysteve.tasks.engines.features import SCORING_VERSION

pytestmark = pytest.mark.server

SPLITS = {
    "fit": {
        "rust-build-errors": ("the borrow checker rejects my loop", "cargo says trait bound not satisfied"),
        "rust-review": ("look over this unsafe block", "is my rust idiomatic"),
    },
    "calibrate": {
        "postgres-tuning": ("query takes ten seconds on postgres", "which index for this where clause"),
        "brand-voice": ("make this copy sound like us", "our landing page does not read like our brand"),
    },
}
PAIRS = {
    "rest-api-design": ("name the resources of our api", "which status code for a partial update"),
    "security-review": ("look for injection holes in this handler", "are these tokens stored safely"),
}
PAIRED = tuple(PAIRS)
NOTHING = ("which poem rhymes with orange", "who won the cup in 1998")


@pytest.fixture
def datasets(tmp_path, small_registry):
    for split, requests in SPLITS.items():
        rows = [(text, [skill]) for skill, texts in requests.items() for text in texts]
        rows += [(f"{text} ({split})", []) for text in NOTHING]
        for skill in requests:
            shutil.copytree(small_registry / skill, tmp_path / split / "skills" / skill)
        lines = [json.dumps({"request": text, "gold": gold}) for text, gold in rows]
        (tmp_path / split / "suite.jsonl").write_text("\n".join(lines))
    _write_pairs(tmp_path / "trap", small_registry)
    return tmp_path


def _write_pairs(folder, registry):
    """Two requests for each skill, and each beside the other skill too."""
    pairs = []
    for skill, other in (PAIRED, PAIRED[::-1]):
        shutil.copytree(registry / skill, folder / "skills" / skill)
        for text in PAIRS[skill]:
            pairs += [(text, skill, True, "positive"), (text, other, False, "hard-negative")]
    names = ("request", "skill", "relevant", "kind")
    lines = [json.dumps({"id": f"P{n}", **dict(zip(names, p, strict=True))}) for n, p in enumerate(pairs)]
    (folder / "pairs.jsonl").write_text("\n".join(lines))


def test_the_flow_fits_writes_and_publishes(on_server, datasets, encoder):
    target = datasets / "fitted.json"
    state = calibrate_flow(str(datasets), str(target), return_state=True)
    fitted = read_fitted(target, encoder=encoder.fingerprint, scoring=SCORING_VERSION)
    assert state.is_completed() and str(fitted.floor) in state.message
    with orchestrated_session() as client:
        run = client.read_flow_runs(sort=FlowRunSort.START_TIME_DESC, limit=1)[0]
        (found, *_) = client.read_artifacts(
            artifact_filter=ArtifactFilter(key=ArtifactFilterKey(any_=["calibration"]))
        )
    assert (run.state.type, found.flow_run_id) == ("COMPLETED", run.id)
    shown = {row["figure"]: row["value"] for row in json.loads(found.data)}
    assert shown["requests"] == "6"
    assert shown["at most 5 percent wrong"] == "not attainable"
