"""Evidence in log-odds, on real picks."""

import math

import pytest

from pickysteve.connectors.evidence import evidence_columns, evidence_of
from pickysteve.flows.service import PickService
from pickysteve.tasks.judge import log_odds

REQUESTS = (
    "the borrow checker rejects my struct with a reference in it",
    "my query is slow and the table is big",
    "write a haiku about snow",
)


@pytest.mark.parametrize("request_text", REQUESTS)
def test_the_parts_sum_to_the_log_odds_of_the_score(engines, small_settings, request_text):
    trace = PickService(small_settings).pick(request_text)
    fitted = engines.calibration.fitted
    for candidate in trace.candidates:
        examples = bool(engines.index.skills[candidate.skill_id].examples)
        parts = evidence_of(candidate, fitted, has_examples=examples)
        assert tuple(parts) == evidence_columns(fitted)
        # scores are clipped near 0 and 1, and features kept to four digits
        if abs(log_odds(candidate.score)) < 9:
            assert math.isclose(sum(parts.values()), log_odds(candidate.score), abs_tol=0.05), (
                candidate.unit_id
            )


def test_a_cross_encoder_has_its_own_column_and_the_embedded_reranker_has_three(engines):
    fitted = engines.calibration.fitted
    assert evidence_columns(fitted) == ("meaning", "words", "examples", "request")
    crossed = fitted.model_copy(update={"scale": "logit"})
    assert evidence_columns(crossed) == ("cross-encoder", "request")
