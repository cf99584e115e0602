"""Labelled pairs: read with errors that name the line, and what their floor is worth."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.calibration.fitted import EMBEDDED, Fitted
from pickysteve.errors import SuiteInvalid
from pickysteve.flows.pairs import LabelledPair, Pairs, load_pairs, read_pairs, with_pair_floor
from pickysteve.registry.index_tables import IndexData

SHIPPED = Fitted.model_validate_json(EMBEDDED.read_bytes())
LINE = '{"id": "1", "request": "a", "skill": "b", "relevant": true, "kind": "positive"}'
KINDS = ("positive", "hard-negative", "easy-negative")


def pairs_of(kinds: list[str]) -> Pairs:
    rows = [
        LabelledPair(id=str(at), request="r", skill=f"s{at % 7}", relevant=kind == "positive", kind=kind)
        for at, kind in enumerate(kinds)
    ]
    return Pairs(IndexData(root="", encoder="", gate="", built_at=""), tuple(rows), "f" * 64)


def test_a_line_that_is_no_pair_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(f"{LINE}\n")
    assert read_pairs(path)[0].skill == "b"
    path.write_text(f"{LINE}\n{LINE.replace('positive', 'perhaps')}\n")
    with pytest.raises(SuiteInvalid, match=r"pairs\.jsonl line 2"):
        read_pairs(path)


def test_missing_pairs_name_the_remedy(tmp_path: Path, encoder) -> None:
    with pytest.raises(SuiteInvalid, match="--datasets"):
        load_pairs(tmp_path, encoder)


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 100)), min_size=1, max_size=60))
def test_easy_negatives_never_move_the_floor(drawn: list[tuple[str, int]]) -> None:
    kinds = ["positive", "hard-negative"] * 7 + [kind for kind, _ in drawn]
    scores = np.array([at / 14 for at in range(14)] + [percent / 100 for _, percent in drawn])
    hard = [kind != "easy-negative" for kind in kinds]
    fitted, figures = with_pair_floor(SHIPPED, pairs_of(kinds), scores)
    alone, _ = with_pair_floor(SHIPPED, pairs_of([k for k in kinds if k != "easy-negative"]), scores[hard])
    assert fitted.youden_floor == alone.youden_floor
    over, of = map(int, str(figures["pairs_positive_over_youden"]).split("/"))
    assert (over, of) == (
        sum(s >= fitted.youden_floor for s, k in zip(scores, kinds, strict=True) if k == "positive"),
        kinds.count("positive"),
    )


def test_the_floor_parts_what_can_be_parted_and_other_skills_confirm_it() -> None:
    kinds = ["positive"] * 70 + ["hard-negative"] * 70
    scores = np.concatenate([np.linspace(0.6, 1, 70), np.linspace(0, 0.4, 70)])
    fitted, figures = with_pair_floor(SHIPPED, pairs_of(kinds), scores)
    assert fitted.youden_floor == pytest.approx(0.5)
    assert figures["pairs_youden_other_skills"] == "70/70 positive and 0/70 hard negative over it"
    assert str(figures["pairs_at_most_20_percent_wrong"]).startswith("floor ")
    assert str(figures["pairs_auroc"]).startswith("1.000")


def test_too_few_pairs_promise_nothing_and_say_what_they_would_need() -> None:
    _, figures = with_pair_floor(SHIPPED, pairs_of(["positive", "hard-negative"] * 7), np.linspace(1, 0, 14))
    assert "14 pairs" in str(figures["pairs_at_most_20_percent_wrong"])
