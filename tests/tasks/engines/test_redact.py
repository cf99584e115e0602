"""The output filter as a whole: what leaves, in whichever chunks it came."""

from __future__ import annotations

import random
import string
from base64 import b64encode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pickysteve.registry.models import Unit
from pickysteve.tasks.assemble import AssembleConfig, assemble_bundle
from pickysteve.tasks.engines.redact import StreamingRedactor, redact
from pickysteve.tasks.values import Pick

DICE = random.Random(11)
LETTERS = string.ascii_letters + string.digits
TOKEN = "ghp_" + "".join(DICE.choice(LETTERS) for _ in range(36))
VALUE = "".join(DICE.choice(LETTERS) for _ in range(32))
KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "".join(
    b64encode(DICE.randbytes(48)).decode() + "\n" for _ in range(5)
) + "-----END RSA PRIVATE KEY-----\n"  # fmt: skip
MARKER = "<<END-0123456789abcdef>>"


def streamed(chunks: list[str]) -> str:
    redactor = StreamingRedactor()
    return "".join(redactor.feed(chunk) for chunk in chunks) + redactor.close()


def wrapped(text: str, width: int = 0) -> str:
    digits = b64encode(text.encode()).decode()
    return "\n".join(digits[at : at + width] for at in range(0, len(digits), width)) if width else digits


def test_each_kind_leaves_its_label_and_is_counted() -> None:
    redactor = StreamingRedactor()
    text = f"{MARKER} uses {TOKEN}, API_KEY={VALUE} and\n{KEY}"
    shown = redactor.feed(text) + redactor.close()
    assert shown == (
        "[redacted: boundary marker] uses [redacted: GitHub token], API_KEY=[redacted: assigned value] and\n"
        "[redacted: private key]\n"
    )
    assert sum(redactor.found.values()) == 4


@pytest.mark.parametrize("secret", [TOKEN, f"API_KEY={VALUE}", KEY, f"a {MARKER} b and more words"])
@pytest.mark.parametrize("width", [0, 64, 76])
def test_what_is_wrapped_in_base64_is_found_once_or_twice_wrapped(secret: str, width: int) -> None:
    config = f"# settings\nname: x\n{secret}\nmore: of it, some words to make it long\n"
    for digits in (wrapped(config, width), wrapped(wrapped(config), width), f"data/{wrapped(config)}"):
        assert redact(f"echo {digits} | base64 -d") == "echo [redacted: encoded secret] | base64 -d"
    utf16 = b64encode(config.encode("utf-16-le")).decode()
    assert "encoded secret" in redact(utf16)


def test_base64_of_ordinary_text_and_of_images_stays() -> None:
    for digits in (
        wrapped("An ordinary sentence about nothing. " * 40, 76),
        b64encode(DICE.randbytes(900)).decode(),
    ):
        assert redact(f"echo {digits}") == f"echo {digits}"


@pytest.mark.parametrize("boundary", ["nonce", "datamark"])
def test_a_model_that_repeats_its_bundle_gives_no_marker_away(boundary: str) -> None:
    unit = Unit(
        unit_id="a", skill_id="a", title="T", description="D", body="Use `git log`.", source="a.md", sha256=""
    )

    class Shelf:
        fingerprint = "shelf"

        def units_of(self, skill_id: str) -> tuple[Unit, ...]:
            return (unit,)

    config = AssembleConfig.model_validate({"boundary": boundary})
    bundle = assemble_bundle(Pick(status="ok", skills=("a",)), Shelf(), config)
    shown = redact(bundle.text)
    assert bundle.nonce not in shown
    assert shown.count("[redacted: boundary marker]") == 4
    assert "git" in shown


def test_only_what_is_undecided_is_held_back() -> None:
    redactor = StreamingRedactor()
    assert redactor.feed("The answer is for") == "The answer is "
    assert redactor.feed("ty-two. ") == "forty-two. "
    assert redactor.feed(f"It uses {TOKEN[:30]}") == "It uses "
    assert redactor.feed(f"{TOKEN[30:]} and") == "[redacted: GitHub token] "
    assert redactor.feed(" API_KEY = ") == "and "
    assert redactor.feed(f'"{VALUE[:20]}') == ""
    assert redactor.feed(f'{VALUE[20:]}" ') == 'API_KEY = "[redacted: assigned value]" '
    assert redactor.close() == ""


secrets = st.sampled_from(
    [TOKEN, f"token = '{VALUE}'", KEY, MARKER, wrapped(f"it is {TOKEN}"), f"Bearer {VALUE}"]
)
pieces = st.one_of(
    secrets,
    st.sampled_from(
        [" ", "\n", "\t", '"', "'", "=", ":", ">", "]", "<", "\u00ab", "-----", "\\n", "\\", "token"]
    ),
    st.sampled_from(
        ["API_KEY", "--token", "Bearer", "Basic", "eyJ", "sk-", "A" * 45, "A" * 64 + "\n", "word", "."]
    ),
    st.text(max_size=5),
)


@given(st.lists(pieces, max_size=12).map("".join), st.data())
@settings(max_examples=500, deadline=None)
def test_where_the_chunks_are_cut_changes_nothing(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    chunks = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert streamed(chunks) == redact(text) == streamed(list(text))


@given(st.text(max_size=40), secrets, st.text(max_size=40), st.data())
@settings(max_examples=300, deadline=None)
def test_no_chunk_ever_gives_a_secret_away(before: str, secret: str, after: str, data: st.DataObject) -> None:
    text = f"{before} {secret} {after}"
    cut = data.draw(st.integers(0, len(text)))
    redactor = StreamingRedactor()
    first = redactor.feed(text[:cut])
    shown = first + redactor.feed(text[cut:]) + redactor.close()
    assert "[redacted: " in shown
    for hidden in (TOKEN, VALUE, MARKER, KEY.splitlines()[1]):
        for at in range(0, len(hidden) - 12, 4):
            assert hidden[at : at + 12] not in shown


@given(st.text())
@settings(max_examples=300, deadline=None)
def test_any_text_without_a_secret_passes_unchanged(text: str) -> None:
    redactor = StreamingRedactor()
    shown = redactor.feed(text) + redactor.close()
    assert shown == text or redactor.found


FLOODS = {
    "letters": "a" * 10**6,
    "dashes": "-" * 10**6,
    "brackets": "<" * 10**6,
    "lines": "\n" * 10**6,
    "a key without an end": "-----BEGIN PRIVATE KEY-----\n" + ("A" * 64 + "\n") * 15_000,
    "headers of keys": "-----BEGIN PRIVATE KEY-----" * 37_000,
    "beginnings of a web token": "-eyJ" * 250_000,
    "beginnings of a key": "sk-" * 330_000,
    "names": "token=" * 160_000,
    "names and spaces": "password: " * 100_000,
    "options": "--token " * 125_000,
    "base64": b64encode(b"words of a text " * 46_000).decode(),
    "lines of base64": ("QUJD" * 19 + "\n") * 13_000,
    "prose": "Some ordinary words about keys. " * 31_000,
}


def within_seconds(text: str, seconds: float) -> float:
    """CPU seconds of the quickest of three runs, or of the first that is quick enough."""
    import time

    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        redact(text)
        best = min(best, time.process_time() - started)
        if best < seconds:
            break
    return best


@pytest.mark.parametrize("flood", FLOODS)
def test_time_is_linear_on_a_megabyte_of_anything(flood: str) -> None:
    """Ten times the text takes about ten times as long; quadratic code would take a hundred times."""
    text = FLOODS[flood]
    tenth = max(within_seconds(text[: len(text) // 10], 0.0), 0.01)
    assert within_seconds(text, 30 * tenth) < 30 * tenth


@pytest.mark.parametrize("flood", ["letters", "a key without an end", "lines", "base64", "names and spaces"])
def test_a_flood_that_comes_letter_by_letter_is_linear_too(flood: str) -> None:
    text = FLOODS[flood][:100_000]
    assert streamed(list(text)) == redact(text)
