"""Enrichment of a registry: written once, resumed, taken up by the index, and gone with the text."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import model_hosts as hosts
import pytest
from typer.testing import CliRunner

from pickysteve.connectors.cli import app
from pickysteve.errors import ModelUnavailable, SettingsInvalid
from pickysteve.flows.engines import ingest
from pickysteve.flows.enrichment import EnrichReport, enrich_registry, enriched_folder, read_enriched
from pickysteve.flows.settings import load_settings
from pickysteve.tasks.engines.index import SearchIndex
from pickysteve.tasks.engines.llm import LlmConfig
from pickysteve.tasks.roles import open_roles

SKILLS = ("brand-voice", "postgres-tuning", "rust-review")
FEW = {"least_examples": 2}
ANSWERS = {
    "brand-voice": ("Define the tone of our brand for the newsletter", "Our copy sounds like somebody else"),
    "postgres-tuning": ("Read the EXPLAIN plan of my query", "The query takes seconds since the table grew"),
    "rust-review": (
        "Read my Rust crate critically before I merge",
        "Is this unsafe block in my crate sound?",
    ),
}


def answer_of(asked: Any) -> dict[str, str]:
    """Two good examples for the skill that is asked about, and eight that are too short."""
    text = json.dumps(asked)
    skill = next(name for name in SKILLS if f"skill {name}" in text)
    names = [f"plain_{n}" for n in (1, 2, 3)] + [f"symptom_{n}" for n in range(1, 6)]
    answer = dict.fromkeys([*names, "terse_1", "terse_2"], "no")
    plain, symptom = ANSWERS[skill]
    return answer | {"plain_1": plain, "plain_2": symptom, "summary": f"About {skill}.", "not_for": ""}


def writes(handler: Any) -> None:
    hosts.says(answer_of(handler.asked), prompt_tokens=1000, answer_tokens=100)(handler)


@pytest.fixture
def settings(small_registry: Path, tmp_path: Path, host: Any) -> Any:
    folder = tmp_path / "skills"
    for name in SKILLS:
        shutil.copytree(small_registry / name, folder / name)
    host.tells(writes)
    llm = {"provider": "openai", "base_url": host.url, "model": "writer", "timeout_seconds": 5}
    llm |= {"prices": {"writer": {"prompt": 1.0, "answer": 10.0}}}
    return load_settings(registry=folder, index_dir=tmp_path / "index", llm=llm, enrich=FEW)


@pytest.fixture
def enrich(settings: Any, encoder: Any, defender: Any) -> Any:
    def run(**given: Any) -> EnrichReport:
        index = SearchIndex(ingest(settings).data)
        role = open_roles(given.pop("llm", settings.llm)).enricher
        handles = {"encoder": encoder, "guard": defender, "role": role}
        return enrich_registry(
            settings.registry, index, **handles, gate=settings.gate, config=settings.enrich, **given
        )

    return run


def test_each_skill_is_written_for_once_and_the_index_takes_it_up(enrich: Any, settings: Any) -> None:
    report = enrich()
    assert [one.skill_id for one in report.written] == list(SKILLS) and not report.failed
    assert sum(spent.cost for spent in report.spent) == pytest.approx(3 * 0.002)
    skills = ingest(settings).data.skills
    for name in SKILLS:
        added = [example.text for example in skills[name].examples if example.origin == "writer"]
        assert added == list(ANSWERS[name])
        assert skills[name].summary == f"About {name}."
    again = enrich()
    assert (again.known, again.written) == (3, [])


def test_it_says_what_was_not_kept(enrich: Any) -> None:
    (one, *_) = enrich().written
    assert {(dropped.text, dropped.reason) for dropped in one.dropped} == {("no", "it has 2 characters")}


def test_an_interrupted_run_goes_on_where_it_stopped(enrich: Any, host: Any) -> None:
    def stop(one: Any) -> None:
        if one.skill_id == "postgres-tuning":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        enrich(tell=stop)
    asked = len(host.asked)
    report = enrich()
    assert (report.known, [one.skill_id for one in report.written]) == (2, ["rust-review"])
    assert len(host.asked) == asked + 1


def test_another_model_or_text_is_written_for_anew(enrich: Any, settings: Any) -> None:
    enrich()
    file = settings.registry / "brand-voice" / "SKILL.md"
    file.write_text(file.read_text() + "\nOne line more.\n")
    assert ingest(settings).data.skills["brand-voice"].summary == ""
    assert [one.skill_id for one in enrich().written] == ["brand-voice"]
    other = settings.llm.model_copy(update={"model": "another"})
    assert len(enrich(llm=other).written) == 3
    origins = {example.origin for example in ingest(settings).data.skills["rust-review"].examples}
    assert origins == {"author", "another"}


def test_a_limit_a_choice_and_another_try(enrich: Any) -> None:
    assert [one.skill_id for one in enrich(limit=1).written] == ["brand-voice"]
    assert [one.skill_id for one in enrich(skills=["rust-review"]).written] == ["rust-review"]
    assert [one.skill_id for one in enrich(skills=["rust-review"], again=True).written] == ["rust-review"]


def test_a_skill_that_the_model_fails_on_is_named_and_the_others_are_done(enrich: Any, host: Any) -> None:
    host.tells(hosts.says("no JSON"), writes)
    report = enrich()
    assert list(report.failed) == ["brand-voice"] and len(report.written) == 2
    assert "answered in a form that was not asked for" in report.failed["brand-voice"]


def test_a_host_that_cannot_be_asked_ends_the_run(enrich: Any, host: Any) -> None:
    host.tells(hosts.sends(b"{}", 401))
    with pytest.raises(ModelUnavailable, match="does not accept the key"):
        enrich()
    assert len(host.asked) == 1


def test_without_a_model_the_way_to_one_is_named(enrich: Any) -> None:
    with pytest.raises(SettingsInvalid, match="pickysteve setup"):
        enrich(llm=LlmConfig())


def test_a_damaged_file_is_named(enrich: Any, settings: Any) -> None:
    enrich(limit=1)
    (path,) = enriched_folder(settings.registry).glob("*.json")
    path.write_text("{}")
    with pytest.raises(SettingsInvalid, match=path.name):
        read_enriched(settings.registry)


def test_the_commands_write_list_and_remove(
    settings: Any, host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "PS_PROFILE": "hosted",
        "PS_LLM__BASE_URL": host.url,
        "PS_LLM__MODEL": "writer",
        "PS_ENRICH__LEAST_EXAMPLES": "2",
        "PS_INDEX_DIR": str(settings.index_dir),
        "PS_REGISTRY": str(settings.registry),
    }.items():
        monkeypatch.setenv(name, value)

    def run(*words: str) -> Any:
        return CliRunner().invoke(app, list(words))

    done = run("enrich", "--json")
    assert done.exit_code == 0, done.output
    assert "3 skills enriched, 0 known, 0 failed; 6 examples kept, 24 not" in done.stderr
    assert "3000 tokens read, 300 written, no price is set" in done.stderr
    found = json.loads(run("skills", "examples", "list", "rust-review", "--json").stdout)
    mine = [one["text"] for one in found if one["origin"] == "writer"]
    assert mine == list(ANSWERS["rust-review"])
    assert len(json.loads(run("skills", "examples", "list", "--dropped", "--json").stdout)) == 24
    assert run("skills", "examples", "remove", "rust-review", mine[0]).exit_code == 0
    found = json.loads(run("skills", "examples", "list", "rust-review", "--json").stdout)
    assert [one["text"] for one in found if one["origin"] == "writer"] == mine[1:]
    done = run("ingest", str(settings.registry), "--enrich")
    assert "0 skills enriched, 3 known" in done.stderr and done.exit_code == 0
