"""The leakage check: a planted leak is found however it is disguised, and what shares less is not."""

from hypothesis import given
from hypothesis import strategies as st

from pickysteve.flows.leakage import find_leaks, normalised_words

words = st.lists(st.sampled_from([f"w{number}" for number in range(400)]), min_size=5, max_size=12)
joints = st.sampled_from([" ", ", ", "\n", " - ", "... "])


@given(words, words, st.data())
def test_a_planted_run_is_found_in_any_case_and_punctuation(one: list[str], other: list[str], data) -> None:
    start = data.draw(st.integers(0, len(one) - 5))
    planted = one[start : start + 5]
    at = data.draw(st.integers(0, len(other)))
    disguised = data.draw(joints).join(word.upper() for word in planted)
    text = " ".join([*other[:at], disguised, *other[at:]])
    (leak,) = find_leaks({"T-1": text}, {"C-1": " ".join(one)})
    assert (leak.measured, leak.known) == ("T-1", "C-1")
    assert leak.words in " ".join(one)


@given(words, words)
def test_without_five_words_in_a_row_in_common_nothing_leaks(one: list[str], other: list[str]) -> None:
    runs = {tuple(one[at : at + 5]) for at in range(len(one) - 4)}
    shared = any(tuple(other[at : at + 5]) in runs for at in range(len(other) - 4))
    assert bool(find_leaks({"a": " ".join(other)}, {"b": " ".join(one)})) == shared


def test_a_short_request_leaks_as_a_whole_and_not_by_a_word() -> None:
    known = {"C-1": "Flaky tests?", "C-2": "our tests are flaky on Mondays"}
    (leak,) = find_leaks({"T-1": "flaky  TESTS"}, known)
    assert leak.known == "C-1" and str(leak) == 'T-1 shares "flaky tests" with C-1'
    assert not find_leaks({"T-1": "flaky"}, known)
    assert not find_leaks({"T-1": ""}, {"C-1": ""})


def test_apostrophes_stay_within_a_word() -> None:
    assert normalised_words("Don't re-run it.") == ["don't", "re", "run", "it"]
