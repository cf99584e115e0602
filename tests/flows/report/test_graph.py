"""The drawn graph: every edge once, every text escaped, the same drawing each time."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from pickysteve.flows.report.graph import graph_page, graph_places, mermaid
from pickysteve.registry.graph import Edge

HOSTILE = '"]; click n0 "javascript:alert(1)" <script>alert(1)</script>'
EDGES = (
    Edge(first="a-skill", second="b-skill", distinguisher="Whether it compiles.", first_signal="it does"),
    Edge(first="b-skill", second="c-skill", distinguisher=HOSTILE, origin="suggested"),
)


def test_mermaid_has_a_node_for_each_skill_and_a_line_for_each_edge() -> None:
    lines = mermaid(EDGES).splitlines()
    assert lines[0] == "graph LR"
    assert lines[1:4] == ['  n0["a-skill"]', '  n1["b-skill"]', '  n2["c-skill"]']
    assert lines[4] == '  n0 ---|"Whether it compiles."| n1'
    assert lines[5].startswith('  n1 -.-|"') and len(lines) == 6


def test_no_text_can_end_its_label_in_mermaid() -> None:
    label = re.fullmatch(r'  n1 -\.-\|"(.*)"\| n2', mermaid(EDGES).splitlines()[5])
    assert label and not set('"<>|[](){}`') & set(label[1])


def test_the_page_needs_nothing_else_and_escapes_every_text() -> None:
    page = graph_page(EDGES, "/skills & <b>")
    assert "<script" not in page and "&lt;script&gt;" in page
    assert not re.search(r'(?:src|href)="', page)
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    (drawing,) = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    tags = [element.tag for element in ElementTree.fromstring(drawing).iter()]
    assert (tags.count("line"), tags.count("circle")) == (2, 3)


def test_an_empty_graph_is_a_page_too() -> None:
    assert "0 pairs" in graph_page((), "/skills")
    assert mermaid(()) == "graph LR\n"


@pytest.mark.parametrize("count", [0, 1, 2, 30])
def test_places_are_the_same_each_time_apart_and_on_the_sheet(count: int) -> None:
    joined = [(at, at + 1) for at in range(count - 1)]
    places = graph_places(count, joined)
    assert (places == graph_places(count, joined)).all()
    assert places.shape == (count, 2) and ((places >= 0) & (places <= 1)).all()
    assert len(np.unique(places.round(3), axis=0)) == count
