"""The page of a run: well-formed, whole without a network, every figure with its n, every text escaped."""

from html.parser import HTMLParser

import pytest

from pickysteve.errors import RunMissing
from pickysteve.flows.report.page import render_page, write_page
from pickysteve.flows.report.words import LABELS, figure_of, figure_words
from pickysteve.flows.suite_rows import read_rows, write_rows
from pickysteve.flows.trifecta_baseline import Baseline, BrokenFloor
from pickysteve.flows.trifecta_report import suite_folder, write_report
from pickysteve.flows.trifecta_run import accepted, run_trifecta

HOSTILE = '<script>alert("x")</script> & <img src=x onerror=alert(1)> \'"]]> {{ 7 * 7 }} {% raw %}'


class Reader(HTMLParser):
    """Checks that tags nest, and collects what stands in the page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "br", "img", "link"}:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def named(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    return reader


@pytest.fixture(scope="module")
def page(tiny_run):
    return read(render_page(tiny_run[1]))


def test_it_stands_alone_without_script_or_network(page):
    assert not page.named("script") and not page.named("link") and not page.named("img")
    places = [
        value
        for _, attributes in page.tags
        for name, value in attributes.items()
        if name in {"src", "href", "xlink:href", "action"}
    ]
    assert places and all(place.startswith("#") for place in places)


def test_every_figure_stands_there_with_its_n_and_interval(page, tiny_run):
    (suite,) = tiny_run[0].suites
    shown = {name: figure_of(suite.ours, name) for name in LABELS}
    assert sum(figure is not None for figure in shown.values()) >= 15
    for name, figure in shown.items():
        if figure is not None:
            assert LABELS[name] in page.words
            assert figure_words(figure) in page.words
            assert f"/{figure.n}" in figure_words(figure) or f"n={figure.n}" in figure_words(figure)


def test_plain_bm25_and_the_provenance_stand_beside(page, tiny_run):
    (suite,) = tiny_run[0].suites
    assert figure_words(suite.bm25.top1_picked) in page.words
    assert suite.dataset_sha256 in page.words
    for fingerprint in suite.fingerprints.values():
        assert fingerprint in page.words


def test_every_drawing_has_a_title_and_a_description_of_its_own(page):
    drawings = page.named("svg")
    named = [attributes["aria-labelledby"].split() for attributes in drawings]
    ids = [attributes["id"] for _, attributes in page.tags if attributes.get("id")]
    assert len(drawings) >= 15
    assert len(ids) == len(set(ids))
    assert all(set(names) <= set(ids) and len(names) == 2 for names in named)


def test_every_plot_has_its_numbers_as_a_table(page):
    titles = {"Scores and the floor", "Risk and coverage", "By kind of request", "Time of each stage"}
    assert all(title in page.words for title in titles)
    assert len(page.named("table")) >= 6
    assert len(page.named("caption")) == len(page.named("table"))
    assert all(attributes.get("scope") for attributes in page.named("th"))


def test_it_follows_the_colours_of_the_reader(tiny_run):
    assert "prefers-color-scheme: dark" in render_page(tiny_run[1])


def test_hostile_text_is_shown_and_never_obeyed(tiny_plan, small_settings, tmp_path):
    report = run_trifecta(tiny_plan(tmp_path), small_settings)
    folder = suite_folder(tmp_path, 1, "tiny")
    hostile = [
        row.model_copy(
            update={
                "id": f"{row.id}{HOSTILE}",
                "request": HOSTILE,
                "picks": (HOSTILE,),
                "category": HOSTILE,
                "scores": {HOSTILE: 0.5},
            }
        )
        for row in read_rows(folder)
    ]
    write_rows(folder, hostile)
    (suite,) = report.suites
    floor = BrokenFloor(figure="right", value=0.5, allowed=HOSTILE, rows=(HOSTILE,))
    kinds = {HOSTILE: suite.ours.right}
    ours = suite.ours.model_copy(update={"right_by_category": kinds})
    changed = {"broken_floors": (floor,), "ours": ours, "unknown_gold": (HOSTILE,)}
    write_report(report.model_copy(update={"suites": (suite.model_copy(update=changed),)}), tmp_path)
    page = render_page(tmp_path)
    reader = read(page)
    assert not reader.named("script") and not reader.named("img")
    assert "<script" not in page and "onerror=alert(1)>" not in page
    assert reader.words.count('<script>alert("x")</script>') > len(hostile)
    assert "{{ 7 * 7 }}" in reader.words and " 49 " not in reader.words


def test_rows_that_changed_are_shown_with_before_and_now(tiny_plan, small_settings, tiny_run, tmp_path):
    report, out = tiny_run
    suite = accepted(report, out, Baseline()).suites["tiny"]
    row, _ = suite.right.popitem()
    baseline = suite.model_copy(update={"wrong": suite.wrong | {row: "something-else"}})
    run_trifecta(tiny_plan(tmp_path, baseline=Baseline(suites={"tiny": baseline})), small_settings)
    page = read(write_page(tmp_path).read_text(encoding="utf-8"))
    assert "Rows that changed since the baseline" in page.words
    assert "something-else" in page.words


def test_a_folder_without_a_run_is_told(tmp_path):
    with pytest.raises(RunMissing, match="trifecta --out"):
        render_page(tmp_path)


def test_a_run_whose_rows_are_gone_is_told(tiny_run, tmp_path):
    write_report(tiny_run[0], tmp_path)
    with pytest.raises(RunMissing, match="run-1"):
        render_page(tmp_path)
