"""docs/agents.md is what the table makes of it."""

import json
import re
import tomllib

import json5
import pytest
from ruamel.yaml import YAML

from pickysteve.connectors.agents.matrix import agents_page
from pickysteve.connectors.agents.table import agents

PAGE = agents_page()
SNIPPETS = re.findall(r"```(json|jsonc|json5|toml|yaml)\n(.*?)\n```", PAGE, re.DOTALL)
READERS = {
    "json": json.loads,
    "jsonc": json.loads,
    "json5": json5.loads,
    "toml": tomllib.loads,
    "yaml": YAML(typ="safe", pure=True).load,
}


def test_the_committed_page_is_in_step(pytestconfig):
    committed = (pytestconfig.rootpath / "docs" / "agents.md").read_text(encoding="utf-8")
    assert committed == PAGE, 'run "pickysteve connect --docs > docs/agents.md"'


@pytest.mark.parametrize("one", agents(), ids=lambda one: one.id)
def test_every_agent_has_a_row_and_a_section(one):
    assert f"| [{one.title}](#{one.id})" in PAGE and f"\n## {one.title}\n" in PAGE


def test_every_agent_with_a_file_has_a_snippet_that_can_be_read():
    sections = re.split(r"\n## ", PAGE)[1:]
    with_snippet = [text.split("\n")[0] for text in sections if "```" in text]
    assert with_snippet == [one.title for one in agents() if one.targets]
    for form, text in SNIPPETS:
        assert "/absolute/path/to/pickysteve" in str(READERS[form](text))


def test_every_path_of_the_table_is_named():
    for one in agents():
        for target in one.targets:
            for system in ("linux", "macos", "windows"):
                assert all(path.split("}/")[-1] in PAGE for path in target.path_templates(system))
