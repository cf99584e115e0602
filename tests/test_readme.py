"""The README keeps its promises: it is short, its commands exist, its figures come from files."""

import re

import pytest

from pickysteve.connectors.cli import COMMANDS


@pytest.fixture(scope="module")
def readme(pytestconfig):
    return (pytestconfig.rootpath / "README.md").read_text(encoding="utf-8")


def test_it_is_short(readme):
    assert len(readme.splitlines()) <= 150


def test_every_command_that_it_shows_exists(readme):
    shown = set(re.findall(r"^pickysteve ([a-z]+)\b", readme, re.MULTILINE))
    assert shown and shown <= COMMANDS


def test_every_file_that_it_names_exists(readme, pytestconfig):
    for path in re.findall(r"`((?:[a-z_]+/)+[\w.]*)`", readme):
        assert (pytestconfig.rootpath / path).exists(), path


def test_the_dag_names_every_stage_in_order(readme):
    (diagram,) = re.findall(r"```text\n(gate.*?)```", readme, re.DOTALL)
    words = [
        "gate", "route", "retrieve", "gate", "rerank", "floor", "knowledge", "judge", "compat", "assemble",
        "execute", "log",
    ]  # fmt: skip
    places, at = [], 0
    for word in words:
        at = diagram.index(word, at) + 1
        places.append(at)
    assert places == sorted(places)


def test_no_text_claims_that_a_score_is_correctness(readme):
    assert "topical similarity, not correctness" in " ".join(readme.split())
