"""Skills as files for others: bounded, with a digest that holds."""

from hashlib import sha256

import pytest
import yaml

from pickysteve.errors import SettingsInvalid
from pickysteve.flows.skill_files import skill_file, skill_lines
from pickysteve.tasks.assemble import parse_bundle
from pickysteve.tasks.gate import GateConfig


def test_a_file_holds_the_whole_skill_inside_the_boundary(engines):
    for skill_id in engines.index.skills:
        file = skill_file(skill_id, engines, GateConfig())
        _, head, body = file.text.split("---\n", 2)
        assert yaml.safe_load(head) == file.frontmatter
        units = engines.index.units_of(skill_id)
        bodies = [section.body for section in parse_bundle(body.removeprefix("\n"))]
        assert bodies == [unit.body for unit in units]


def test_the_digest_is_of_the_bytes_and_stays_while_the_text_stays(engines):
    one, again = (skill_file("rust-review", engines, GateConfig()) for _ in range(2))
    assert one == again
    assert one.sha256 == sha256(one.text.encode()).hexdigest()
    assert one.size == len(one.text.encode())


def test_a_skill_that_is_not_there_is_not_served(engines):
    with pytest.raises(SettingsInvalid, match="did you mean"):
        skill_file("rust-revew", engines, GateConfig())


def test_a_registry_without_skills_has_no_lines(engines):
    assert skill_lines([], engines) == ""
