"""Editing any text in any form: refused, or changed by our entry alone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pickysteve.connectors.agents.data import EditRefused
from pickysteve.connectors.agents.edit import connected, disconnected, read_config, state_of
from pickysteve.connectors.agents.server import ServerCommand, filled
from pickysteve.connectors.agents.table import agent

from .samples import KINDS, damaged


@pytest.mark.parametrize("form", KINDS)
@settings(max_examples=60)
@given(data=st.data())
def test_also_without_the_copy_all_comes_back_but_a_missing_last_line_break(form, data):
    content = data.draw(damaged(form))
    entries = filled(agent(KINDS[form]).targets[0], ServerCommand("/opt/pickysteve"))
    try:
        before = read_config(content, form)
        if state_of(before, entries) != "absent":
            return
        longer = connected(content, form, entries)
    except EditRefused:
        return
    left = disconnected(longer, form, entries, {} if before is None else before)
    assert left in (content, content + b"\n", content + b"\r\n")
