from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pickysteve.tasks.engines.folding import fold_character
from pickysteve.tasks.engines.redact_markers import DOUBLE, STARTS, MarkerFilter

NONCE = "0123456789abcdef"
LABEL = "[redacted: boundary marker]"
MARKERS = (f"<<UNTRUSTED-{NONCE}>>", f"<<END-{NONCE}>>", f"</skill-{NONCE}>")
DISGUISES = {
    "as it is": str,
    "lower": str.lower,
    "upper": str.upper,
    "full width": lambda t: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in t),
    "zero width": "\u200b".join,
    "spaced": " ".join,
    "marks": "\u0301".join,
    "homoglyphs": lambda t: t.replace("e", "\u0435").replace("E", "\u0415").replace("s", "\u0455"),
    "brackets": lambda t: t.replace("<", "\u2039").replace(">", "\u203a").replace("-", "\u2013"),
    "guillemets": lambda t: t.replace("<<", "\u00ab").replace(">>", "\u00bb"),
}


def filtered(*chunks: str) -> str:
    each = MarkerFilter()
    return "".join(each.feed(chunk) for chunk in chunks) + each.close()


@pytest.mark.parametrize("marker", MARKERS)
@pytest.mark.parametrize("disguise", DISGUISES.values(), ids=DISGUISES)
def test_a_marker_is_taken_out_in_any_form_that_folds_to_it(marker: str, disguise) -> None:
    disguised = disguise(marker)
    assert filtered(f"a {disguised}\nb") == f"a {LABEL}\nb"
    for before in ("<", "\u00ab", "<<", "\u00ab<"):
        assert LABEL in filtered(f"{before}{disguised}")
    assert disguised[:-1] not in filtered(disguised[:-1] + "\n")


def test_of_an_opening_tag_the_name_is_taken_out() -> None:
    assert filtered(f'<skill-{NONCE} id="sql" cut="false">') == f'{LABEL} id="sql" cut="false">'


@pytest.mark.parametrize(
    "text",
    [
        "cat <<END-OF-FILE\nx\nEND-OF-FILE",
        "cat <<END\nx\nEND",
        "<skill-list><skill-item/></skill-list>",
        "a << b; x <<= 1; <div> </div> << >>",
        "<<end-cafe>>",
        "\u00abguillemets\u00bb and \u300aa title\u300b",
        "<",
        "<<END-",
        f"END-{NONCE}",
        f"<\n<END-{NONCE}>>",
    ],
)
def test_ordinary_code_and_prose_stay(text: str) -> None:
    assert filtered(text) == text


def test_every_character_that_can_begin_a_marker_is_known() -> None:
    every = (chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    folded = {character: fold_character(character) for character in every}
    assert {c for c, to in folded.items() if to.startswith("<")} == set(STARTS)
    assert {c for c in STARTS if folded[c] == "<<"} == set(DOUBLE)
    assert {folded[c] for c in STARTS} == {"<", "<<"}


pieces = st.sampled_from(
    ["<", "<<", "\u00ab", "\u2039", ">", ">>", "END-", "UNTRUSTED-", "skill-", "/", NONCE, NONCE[:9], " ",
     "\n", "\u200b", "x", "\uff1c", "a" * 3, *MARKERS]
)  # fmt: skip


@given(st.lists(pieces, max_size=12).map("".join), st.data())
@settings(max_examples=400, deadline=None)
def test_where_the_chunks_are_cut_changes_nothing(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    chunks = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert filtered(*chunks) == filtered(text) == filtered(*text)


@given(st.lists(pieces, max_size=12).map("".join))
@settings(max_examples=400, deadline=None)
def test_no_marker_with_its_nonce_is_left(text: str) -> None:
    left = "".join(map(fold_character, filtered(text).replace(LABEL, "\n")))
    assert not re.search(r"<<untrusted-|<<end-[0-9a-f]{8}|</?skill-[0-9a-f]{8}", left)
