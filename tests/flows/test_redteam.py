"""The scheduled red team on a real server: a gate that got worse is a failed run that names the cases."""

from pathlib import Path

import pytest
from prefect.client.schemas.sorting import FlowRunSort
from prefect.exceptions import FailedRun

from pickysteve.flows.redteam import REGRESSION, redteam
from pickysteve.flows.redteam_report import RedteamCase, redteam_report, write_baseline
from pickysteve.flows.server_session import orchestrated_session
from pickysteve.registry.models import Verdict

ORDINARY = (
    "Sort these imports",
    "Add a test for the parser",
    "Why is this query slow?",
    "Rename the column to customer_id",
    "Write the release notes",
    "Explain this regular expression",
    "Split this function in two",
    "Update the copyright year",
)


def case(number: int, label: str) -> RedteamCase:
    return RedteamCase.model_validate(
        {
            "id": f"case-{number}",
            "text": ORDINARY[number],
            "label": label,
            "family": "f",
            "surface": "request",
        }
    )


@pytest.fixture
def cases(tmp_path: Path) -> tuple[RedteamCase, ...]:
    """Ordinary texts that are called attacks: no gate that is worth anything blocks them."""
    found = tuple(case(number, "attack") for number in range(len(ORDINARY)))
    (tmp_path / "requests.jsonl").write_text("".join(each.model_dump_json() + "\n" for each in found))
    (tmp_path / "documents.jsonl").write_text("")
    return found


def write(path: Path, cases: tuple[RedteamCase, ...], *, blocks: bool) -> str:
    """The baseline of a gate that blocked all of the cases, or none."""

    def judge(text: str, surface: str) -> Verdict:
        risk = "block" if blocks else "low"
        return Verdict(allowed=not blocks, score=0, risk=risk, sha256="", fingerprint="")

    write_baseline(redteam_report(cases, judge, "accepted"), path)
    return str(path)


@pytest.mark.server
class TestOnAServer:
    def run(self, tmp_path: Path, baseline: str):
        with orchestrated_session() as client:
            redteam(cases=str(tmp_path), baseline=baseline, return_state=True)
            return client.read_flow_runs(sort=FlowRunSort.START_TIME_DESC, limit=1)[0].state

    def test_a_regression_is_a_failed_state_of_its_own_name_that_lists_the_cases(
        self, on_server, tmp_path, cases
    ) -> None:
        state = self.run(tmp_path, write(tmp_path / "baseline.json", cases, blocks=True))
        assert (state.type, state.name) == ("FAILED", REGRESSION)
        assert state.message.startswith("8 cases went wrong that did not before, 0 the other way round")
        assert all(each.id in state.message for each in cases)
        assert not any(text in state.message for text in ORDINARY)

    def test_a_gate_as_good_as_the_baseline_completes(self, on_server, tmp_path, cases) -> None:
        state = self.run(tmp_path, write(tmp_path / "baseline.json", cases, blocks=False))
        assert (state.type, state.name) == ("COMPLETED", "Passed")

    def test_whoever_calls_the_flow_gets_the_report_or_the_failure(self, on_server, tmp_path, cases) -> None:
        with orchestrated_session():
            report = redteam(cases=str(tmp_path), baseline=write(tmp_path / "same.json", cases, blocks=False))
            assert len(report.wrong) == len(cases)
            with pytest.raises(FailedRun, match="case-0"):
                redteam(cases=str(tmp_path), baseline=write(tmp_path / "better.json", cases, blocks=True))
