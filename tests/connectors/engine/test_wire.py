"""One JSON object a line, both ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve import errors
from pickysteve.connectors.engine.wire import decode, encode, error_line, raised
from pickysteve.errors import EngineUnavailable, RequestInvalid


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text())))
def test_every_message_is_one_line_and_comes_back(message):
    line = encode(message)
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert decode(line) == message


def test_lone_surrogates_survive_for_the_gate_to_refuse():
    assert decode(encode({"text": "\ud800"})) == {"text": "\ud800"}


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"\xff", b"[" * 100_000])
def test_a_broken_line_is_an_error_of_the_engine(line):
    with pytest.raises(EngineUnavailable):
        decode(line)


@pytest.mark.parametrize("name", errors.__all__)
def test_each_of_our_errors_comes_back_as_itself(name):
    error = getattr(errors, name)("What to do: this.")
    back = raised(error_line(error)["error"])
    assert (type(back), str(back)) == (type(error), str(error))


def test_a_fault_of_ours_tells_no_secrets_of_the_engine():
    back = raised(error_line(KeyError("/home/somebody/key"))["error"])
    assert isinstance(back, EngineUnavailable) and "somebody" not in str(back)


def test_a_forged_kind_is_still_an_error_of_ours():
    assert type(raised({"kind": "__doc__", "message": "x"})) is EngineUnavailable
    assert type(raised({"kind": "RequestInvalid", "message": "x"})) is RequestInvalid
