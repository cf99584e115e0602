import pytest

from pickysteve.errors import RequestInvalid, SettingsInvalid
from pickysteve.flows.asking import check_skill, read_request
from pickysteve.tasks.gate import GateConfig


@pytest.mark.parametrize("text", ["", "   \n\t", "\u2003"])
def test_an_empty_request_is_refused(text):
    with pytest.raises(RequestInvalid, match="empty"):
        read_request(text, (), GateConfig())


def test_a_request_of_a_megabyte_is_refused_with_its_length():
    with pytest.raises(RequestInvalid, match="1,000,000"):
        read_request("x" * 1_000_000, (), GateConfig())


@pytest.mark.parametrize("text", ["fix\0this", "fix \udc80 this"])
def test_bytes_that_are_not_text_are_refused(text):
    with pytest.raises(RequestInvalid, match="not text"):
        read_request(text, (), GateConfig())


def test_an_excluded_skill_counts_once():
    assert read_request("hi there", ("a", "b", "a"), GateConfig()).exclude == ("a", "b")


def test_a_misspelt_skill_is_answered_with_the_nearest():
    with pytest.raises(SettingsInvalid, match="rust-review"):
        check_skill("rust-reviw", ["rust-review", "brand-voice"])
