"""Two jobs: fitted on the pairs that cuts offer; without a compound to learn from, none is read as two."""

from __future__ import annotations

from dataclasses import dataclass

from pickysteve.flows.suite import Task
from pickysteve.flows.two_jobs import NEVER, fit_two_jobs, offered_pairs, two_job_report
from pickysteve.tasks.judge import PAIR_FEATURES, Pair
from pickysteve.tasks.values import Route


@dataclass(frozen=True)
class Scene:
    task: Task
    route: Route


def scene(*gold: str) -> Scene:
    task = Task.model_validate({"id": "-".join(gold) or "none", "request": "do it", "gold": list(gold)})
    return Scene(task, Route(query="do it", clauses=()))


def pair(*skills: str, value: float) -> Pair:
    return Pair(skills=skills, cut=0, features=dict.fromkeys(PAIR_FEATURES, value))


TWO, ONE = scene("boats", "clocks"), scene("boats")
OFFERED = [(TWO, pair("boats", "clocks", value=2.0)), (ONE, pair("boats", "clocks", value=-2.0))] * 9


def test_right_pairs_get_the_higher_utility() -> None:
    weights = fit_two_jobs(OFFERED)
    right, wrong = (offered.utility(weights) for _, offered in OFFERED[:2])
    assert right > wrong


def test_without_a_compound_request_none_is_read_as_two() -> None:
    assert fit_two_jobs(OFFERED[1::2]) == NEVER
    assert pair("boats", "clocks", value=9.0).utility(NEVER) < 0


def test_the_report_counts_the_best_pair_of_each_scene() -> None:
    found = two_job_report([TWO, ONE], OFFERED[:2], fit_two_jobs(OFFERED))
    assert found == {"second_precision": "1/1", "second_recall": "1/1"}


def test_a_request_without_a_cut_is_not_scored() -> None:
    def unasked(_: Scene) -> object:
        raise AssertionError

    assert list(offered_pairs([ONE], unasked)) == []
