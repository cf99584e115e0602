from dataclasses import replace

import numpy as np

from pickysteve.flows.reach import leave_out, skill_reach
from pickysteve.registry.index_tables import IndexData
from pickysteve.tasks.engines.bm25 import count_terms
from pickysteve.tasks.engines.index import SearchIndex, text_digest


def quiet(*_):
    pass


def with_examples(data: IndexData, skill_id: str, texts: list[str], encoder) -> IndexData:
    """The index with other examples for one skill, and none of its own."""
    skill = data.skills[skill_id]
    kept = [row for row, v in enumerate(data.vectors) if (v.kind, v.owner) != ("example", skill_id)]
    old = next(v for v in data.vectors if v.kind == "example")
    vectors = [data.vectors[row] for row in kept]
    vectors += [replace(old, owner=skill_id, text_sha256=text_digest(text)) for text in texts]
    examples = tuple(skill.examples[0].model_copy(update={"text": text}) for text in texts)
    postings = {s: c for s, c in data.postings["examples"].items() if s != skill_id}
    if texts:
        postings[skill_id] = dict(count_terms(" ".join(texts)))
    return replace(
        data,
        skills=data.skills | {skill_id: skill.model_copy(update={"examples": examples})},
        vectors=tuple(vectors),
        matrix=np.concatenate([data.matrix[kept], encoder.encode(texts)]),
        postings={**data.postings, "examples": postings},
    )


def test_an_example_that_is_left_out_leaves_no_trace(small_index):
    data = small_index.data
    left = leave_out(data, 3)
    gone = {text_digest(skill.examples[3].text) for skill in data.skills.values()}
    assert len(data.vectors) - len(left.vectors) == len(data.skills)
    assert not gone & {vector.text_sha256 for vector in left.vectors if vector.kind == "example"}
    assert len(left.matrix) == len(left.vectors)
    for skill_id, skill in data.skills.items():
        rest = " ".join(e.text for at, e in enumerate(skill.examples) if at != 3)
        assert left.postings["examples"][skill_id] == dict(count_terms(rest))
    assert leave_out(data, 99).vectors == data.vectors


def test_skills_that_win_are_not_asked_about_again(engines, small_settings):
    reaches = skill_reach(engines, small_settings, quiet)
    assert [reach.skill_id for reach in reaches] == list(engines.index.skills)
    assert all((reach.first, reach.by_description) == (1, False) for reach in reaches)
    assert all(reach.asked == 1 + sum(reach.instead.values()) for reach in reaches)


def test_a_skill_whose_requests_are_about_another_one_is_unreachable(engines, small_settings, encoder):
    strangers = [
        "which index does this slow postgres query need",
        "EXPLAIN ANALYZE shows a sequential scan on a big table",
        "vacuum never finishes on our largest postgres table",
    ]
    data = with_examples(engines.index.data, "brand-voice", strangers, encoder)
    other = replace(engines, index=SearchIndex(data))
    reach = {one.skill_id: one for one in skill_reach(other, small_settings, quiet)}["brand-voice"]
    assert (reach.asked, reach.first) == (3, 0)
    assert reach.instead == {"postgres-tuning": 3}


def test_without_examples_the_description_is_the_request(engines, small_settings, encoder):
    data = with_examples(engines.index.data, "rust-review", [], encoder)
    other = replace(engines, index=SearchIndex(data))
    told = []
    reaches = skill_reach(other, small_settings, lambda *progress: told.append(progress))
    reach = {one.skill_id: one for one in reaches}["rust-review"]
    assert (reach.by_description, reach.asked, reach.first) == (True, 1, 1)
    assert told[-1][1:] == (len(data.skills), len(data.skills))
