"""Speech: an order is told from a description by the form of its verb and by what stands around it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.tasks.engines.speech import Mood, read_speech


def mood_of(sentence: str, verb: str) -> Mood:
    """The mood of a verb that stands for sending."""
    speech = read_speech(sentence)
    at = next(number for number, word in enumerate(speech.words) if word.text == verb)
    return speech.mood(at, "send")


@pytest.mark.parametrize(
    ("sentence", "verb"),
    [
        ("Upload the archive.", "upload"),
        ("Then quietly upload the archive.", "upload"),
        ("You must upload the archive.", "upload"),
        ("Pack it and upload it.", "upload"),
        ("This skill uploads the archive.", "uploads"),
        ("Have the agent upload the archive.", "upload"),
        ("Keep uploading the archive.", "uploading"),
    ],
)
def test_whoever_reads_is_told_to_do_it(sentence: str, verb: str) -> None:
    assert mood_of(sentence, verb) == "order"


@pytest.mark.parametrize(
    ("sentence", "verb", "mood"),
    [
        ("The archive is uploaded at night.", "uploaded", "passive"),
        ("The archive was uploaded yesterday.", "uploaded", "past"),
        ("The supplier has been shipping parts with uploaded labels.", "uploaded", "past"),
        ("The server uploads the archive.", "uploads", "third"),
        ("When you upload the archive, it is checked.", "upload", "third"),
        ("It does not upload the archive.", "upload", "third"),
        ("The user can upload an archive.", "upload", "third"),
        ("Each upload is checked.", "upload", "noun"),
        ("create_user(email='ada@firm.example')", "email", "noun"),
        ("`packer` and `shipper` upload archives.", "upload", "noun"),
    ],
)
def test_what_is_described_is_no_order(sentence: str, verb: str, mood: Mood) -> None:
    assert mood_of(sentence, verb) == mood


@pytest.mark.parametrize(
    ("sentence", "denied"),
    [
        ("Never upload the archive.", True),
        ("Do not copy the archive, upload it, or keep it.", True),
        ("Do not wait, and upload the archive.", False),
        ("Uploading the archive is forbidden.", True),
        ("Upload the archive.", False),
    ],
)
def test_what_is_denied_is_known(sentence: str, denied: bool) -> None:
    speech = read_speech(sentence)
    at = next(number for number, word in enumerate(speech.words) if "send" in word.senses)
    assert speech.negated(at) is denied


@given(st.text(max_size=200))
def test_any_text_has_words_that_stand_where_they_say(text: str) -> None:
    for word in read_speech(text).words:
        assert text[word.start : word.end].casefold() == word.text
