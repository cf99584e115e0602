import pytest

from pickysteve.errors import SuiteInvalid
from pickysteve.flows.suite import read_suite


def suite(tmp_path, text):
    path = tmp_path / "suite.jsonl"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_task_may_call_its_request_a_task_and_gets_its_line_as_id(tmp_path):
    path = suite(tmp_path, '{"task": "one", "gold": ["a"]}\n\n{"id": "x", "request": "two", "gold": []}\n')
    first, second = read_suite(path)
    assert (first.id, first.request, first.gold) == ("0", "one", ("a",))
    assert (second.id, second.gold) == ("x", ())


def test_fields_that_we_do_not_know_are_passed_over(tmp_path):
    (task,) = read_suite(suite(tmp_path, '{"request": "r", "gold": ["a"], "rationale": "because"}'))
    assert task.request == "r"


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"request": "r"}',
        '{"gold": []}',
        '{"request": "", "gold": []}',
        '{"request": "r", "gold": "a"}',
    ],
)
def test_a_bad_line_is_named_by_its_number(tmp_path, line):
    with pytest.raises(SuiteInvalid, match="line 2"):
        read_suite(suite(tmp_path, '{"request": "r", "gold": []}\n' + line))


def test_a_missing_or_empty_suite_is_told(tmp_path):
    with pytest.raises(SuiteInvalid, match="cannot be read"):
        read_suite(tmp_path / "nowhere.jsonl")
    with pytest.raises(SuiteInvalid, match="no task"):
        read_suite(suite(tmp_path, "\n"))
