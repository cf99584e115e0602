"""Rerankers and encoders of one's own: refused without their calibration, calibrated, and used by a pick."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import tiny_models
import yaml
from typer.testing import CliRunner

from pickysteve.calibration.fitted import read_fitted, write_fitted
from pickysteve.connectors.cli import app
from pickysteve.errors import CalibrationMismatch, ModelUnavailable, SuiteInvalid
from pickysteve.flows.calibrate_own import calibrate_own_pairs
from pickysteve.flows.dag import pick_context
from pickysteve.flows.engines import calibration_file, open_engines, open_scorer
from pickysteve.flows.fitting_pairs import read_pair_scenes
from pickysteve.flows.suite import read_suite
from pickysteve.tasks.engines.cross_encoder import PairScorer
from pickysteve.tasks.engines.features import SCORING_VERSION
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.stage import Direct
from pickysteve.tasks.values import Request

REQUEST = Request(text="review my rust endpoint for security")


def with_reranker(settings: Any, folder: Path, **changes: Any) -> Any:
    rerank = settings.rerank.model_copy(update={"model": str(folder)})
    return settings.model_copy(update={"rerank": rerank} | changes)


@pytest.fixture
def crossed(small_settings: Any, engines: Any, tiny_reranker: Path) -> Any:
    """Settings with the tiny cross-encoder; the index is there already."""
    return with_reranker(small_settings, tiny_reranker)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory, small_index: Any) -> Path:
    """The registry's examples with a word more as rows: not honest, and enough for the mechanics."""
    columns = [[(f"please: {e.text}", [s.skill_id]) for e in s.examples] for s in small_index.skills.values()]
    texts = [row for rows in zip(*columns, strict=False) for row in rows]
    rows = [*texts[:40], ("please: review rust, and also tune postgres", ["rust-review", "postgres-tuning"])]
    rows += [(f"plan a party for number {n}", []) for n in range(10)]
    lines = [json.dumps({"id": str(n), "request": text, "gold": gold}) for n, (text, gold) in enumerate(rows)]
    path = tmp_path_factory.mktemp("own") / "suite.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def fitted(small_index: Any, suite: Path, encoder: Any, tiny_reranker: Path) -> Any:
    return calibrate_own_pairs(small_index.data, suite, encoder, PairScorer(str(tiny_reranker)))


def test_the_floor_of_another_reranker_is_refused_with_both_ways_out(crossed: Any) -> None:
    with pytest.raises(CalibrationMismatch, match=r'"pickysteve calibrate".*--allow-uncalibrated'):
        open_engines(crossed)


def test_our_own_file_does_not_pass_for_it(crossed: Any) -> None:
    from pickysteve.calibration.fitted import EMBEDDED

    named = crossed.model_copy(update={"calibration": EMBEDDED})
    with pytest.raises(CalibrationMismatch, match=r"the reranker embedded, not for .*tiny-reranker@"):
        open_engines(named)


def test_whoever_allows_it_is_ranked_by_the_raw_score_and_told(crossed: Any) -> None:
    allowed = crossed.model_copy(update={"allow_uncalibrated": True})
    trace = pick_context(REQUEST, open_engines(allowed), allowed, Direct())
    (fallback,) = trace.degraded
    assert "uncalibrated, ranked by the raw score of the cross-encoder" in fallback.reason
    assert trace.pick.low_confidence and trace.pick.confidence is None
    logits = [candidate.features["logit"] for candidate in trace.candidates]
    assert logits == sorted(logits, reverse=True)


def test_the_calibration_records_the_reranker_and_the_scale_of_its_score(
    fitted: Any, tiny_reranker: Path
) -> None:
    assert fitted.reranker == PairScorer(str(tiny_reranker)).fingerprint
    assert fitted.scale == "logit"
    assert fitted.with_examples == fitted.without_examples and set(fitted.with_examples.features) == {"logit"}
    assert fitted.report["requests"] in (25, 26)


def test_weights_that_know_nothing_earn_a_floor_that_nothing_clears(fitted: Any) -> None:
    assert fitted.report["no_match_auroc"] < 0.9
    assert fitted.floor == 1.0


def test_a_pick_uses_it_and_is_the_same_twice(fitted: Any, crossed: Any, tmp_path: Path) -> None:
    write_fitted(fitted, tmp_path / "fitted.json")
    named = crossed.model_copy(update={"calibration": tmp_path / "fitted.json"})
    opened = open_engines(named)
    traces = [pick_context(REQUEST, opened, named, Direct()) for _ in range(2)]
    assert traces[0].degraded == ()
    assert traces[0].pick == traces[1].pick and traces[0].candidates == traces[1].candidates
    scale = fitted.without_examples
    first = traces[0].candidates[0]
    odds = scale.features["logit"] * first.features["logit"] + scale.constant
    assert first.score == pytest.approx(1 / (1 + 2.718281828**-odds), abs=1e-3)
    assert traces[0].fingerprints["reranker"].startswith("cross-encoder:tiny-reranker@")


def test_a_calibration_for_one_checkpoint_is_refused_for_another(
    fitted: Any, small_settings: Any, engines: Any, tmp_path: Path
) -> None:
    write_fitted(fitted, tmp_path / "fitted.json")
    other = tiny_models.save_cross_encoder(tmp_path / "tiny-reranker", seed=2)
    named = with_reranker(small_settings, other, calibration=tmp_path / "fitted.json")
    with pytest.raises(CalibrationMismatch, match=r"tiny-reranker@.* not for .*tiny-reranker@"):
        open_engines(named)


def test_a_calibration_on_our_splits_is_found_by_itself(fitted: Any, crossed: Any, encoder: Any) -> None:
    path = calibration_file(encoder, open_scorer(crossed))
    try:
        write_fitted(fitted, path)
        assert open_engines(crossed).calibration.fitted == fitted
    finally:
        path.unlink()


def test_a_reranker_that_is_not_there_is_said_before_any_request(small_settings: Any, engines: Any) -> None:
    allowed = with_reranker(small_settings, Path("/nowhere/model"), allow_uncalibrated=True)
    with pytest.raises(ModelUnavailable, match="There is no folder"):
        open_engines(allowed)


def test_half_of_a_small_suite_is_too_little_for_a_scale(
    small_index: Any, suite: Path, encoder: Any, tiny_reranker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pickysteve.flows.fitting_pairs.LEAST_ANSWERED", 30)
    with pytest.raises(SuiteInvalid, match="needs 30: write more rows"):
        calibrate_own_pairs(small_index.data, suite, encoder, PairScorer(str(tiny_reranker)))


def test_a_reranker_that_is_never_right_is_not_calibrated(
    small_index: Any, suite: Path, encoder: Any, tiny_reranker: Path, tmp_path: Path
) -> None:
    scorer, never = PairScorer(str(tiny_reranker)), tmp_path / "suite.jsonl"
    scenes = read_pair_scenes(read_suite(suite), SearchIndex(small_index.data), encoder, scorer, print)
    rows = [
        {
            "id": scene.task.id,
            "request": scene.task.request,
            # what it likes least is said to be right
            "gold": [scene.skills[int(scene.best_of_skills(scene.logits).argmin())]] * bool(scene.task.gold),
        }
        for scene in scenes
    ]
    never.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(SuiteInvalid, match="does not score right skills higher"):
        calibrate_own_pairs(small_index.data, never, encoder, scorer)


def test_another_encoder_has_an_index_and_a_calibration_of_its_own(
    small_settings: Any, tiny_encoder: Path, tmp_path: Path
) -> None:
    embed = small_settings.embed.model_copy(update={"model": str(tiny_encoder)})
    own = small_settings.model_copy(update={"embed": embed, "index_dir": tmp_path / "index"})
    with pytest.raises(CalibrationMismatch, match="cannot be read"):
        open_engines(own)
    allowed = own.model_copy(update={"allow_uncalibrated": True, "runs_dir": tmp_path / "runs"})
    opened = open_engines(allowed)
    assert opened.index.data.matrix.shape[1] == 16
    assert opened.index.data.encoder.startswith("tiny-encoder@")
    trace = pick_context(REQUEST, opened, allowed, Direct())
    assert trace.pick.skills and "plain cosine and BM25" in trace.degraded[0].reason


def test_a_calibration_with_a_reranker_is_read_again_as_it_was(fitted: Any, tmp_path: Path) -> None:
    write_fitted(fitted, tmp_path / "f.json")
    given = {"encoder": fitted.encoder, "scoring": SCORING_VERSION, "reranker": fitted.reranker}
    assert read_fitted(tmp_path / "f.json", **given) == fitted


def test_the_command_that_the_refusal_names_makes_the_calibration_that_a_pick_then_finds(
    small_registry: Path,
    encoder: Any,
    tiny_reranker: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On splits of a few skills each, as those of a checkout are laid out."""
    names = sorted(path.name for path in small_registry.iterdir())
    for split, skills in (("fit", names[::2]), ("calibrate", names[1::2])):
        rows = []
        for skill in skills:
            shutil.copytree(small_registry / skill, tmp_path / split / "skills" / skill)
            examples = yaml.safe_load((small_registry / skill / "examples.yaml").read_text())["examples"]
            rows += [{"request": f"please: {text}", "gold": [skill]} for text in examples[:8]]
        rows += [{"request": f"plan a party for number {n}", "gold": []} for n in range(6)]
        (tmp_path / split / "suite.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.setenv("PS_REGISTRY", str(tmp_path / "fit" / "skills"))
    monkeypatch.setenv("PS_RERANK__MODEL", str(tiny_reranker))

    def run(*words: str) -> Any:
        return CliRunner().invoke(app, list(words))

    refused = run("pick", REQUEST.text)
    assert isinstance(refused.exception, CalibrationMismatch)
    made = run("calibrate", "--datasets", str(tmp_path))
    assert made.exit_code == 0, made.output
    try:
        picked = json.loads(run("pick", REQUEST.text, "--json").stdout)
    finally:
        calibration_file(encoder, PairScorer(str(tiny_reranker))).unlink()
    assert picked["degraded"] == [] and picked["status"] in ("ok", "no_confident_match")
