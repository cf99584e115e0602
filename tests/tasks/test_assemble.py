from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pickysteve.errors import PickyError
from pickysteve.registry.models import Unit
from pickysteve.tasks.assemble import (
    PREAMBLE,
    AssembleConfig,
    Section,
    assemble,
    assemble_bundle,
    attribute,
    parse_bundle,
    render,
)
from pickysteve.tasks.engines.datamark import MARKS
from pickysteve.tasks.engines.folding import neutralise, reserved_spans
from pickysteve.tasks.stage import Direct
from pickysteve.tasks.values import Pick

CONFIG = AssembleConfig()
BOTH = (CONFIG, AssembleConfig(boundary="datamark"))
both_boundaries = pytest.mark.parametrize("config", BOTH, ids=lambda config: config.boundary)
NONCE = "0123456789abcdef"
TOKENS = (
    "<<UNTRUSTED-",
    "<<END-",
    "<skill-",
    "</skill-",
    "<|im_start|>",
    "<|eot_id|>",
    "\n\nHuman:",
    "\n\nAssistant:",
    "[SYSTEM]:",
    "[NOTE TO MODEL]:",
)
DISGUISES = (
    str.lower,
    str.upper,
    lambda token: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in token),
    lambda token: "\u200b".join(token),
    lambda token: re.sub(r"(\S)(?=\S)", r"\1 ", token),
    lambda token: token.replace("\n\n", "\r\n\r\n"),
    lambda token: token.replace("\n", "\u2028"),
    lambda token: token.replace("e", "\u0435").replace("E", "\u0415").replace("a", "\u0430"),
    lambda token: token.replace("<", "\u2039").replace(">", "\u203a").replace("-", "\u2013"),
    lambda token: "".join(c + "\u0301" for c in token),
)
forgeries = st.builds(
    lambda token, disguise: disguise(token), st.sampled_from(TOKENS), st.sampled_from(DISGUISES)
)
hostile = st.lists(st.one_of(forgeries, st.text(max_size=12), st.just(NONCE)), max_size=8).map("".join)


@dataclass
class Shelf:
    """An index that knows the units of a few skills."""

    skills: dict[str, tuple[Unit, ...]]
    fingerprint: str = "shelf"

    def units_of(self, skill_id: str) -> tuple[Unit, ...]:
        return self.skills[skill_id]


def shelf(**bodies: str | tuple[str, ...]) -> Shelf:
    return Shelf({name: units(name, (b,) if isinstance(b, str) else b) for name, b in bodies.items()})


def units(skill_id: str, bodies: tuple[str, ...]) -> tuple[Unit, ...]:
    return tuple(
        Unit(
            unit_id=f"{skill_id}/{number}",
            skill_id=skill_id,
            title="T",
            description="D",
            body=body,
            source=f"{skill_id}/{number}.md",
            sha256="",
            indexed_at="2026-01-02T03:04:05Z",
        )
        for number, body in enumerate(bodies)
    )


def picked(*skills: str, **more: object) -> Pick:
    return Pick(status="ok", skills=skills).model_copy(update=more)


def test_a_bundle_reads_as_documented() -> None:
    bundle = assemble_bundle(picked("sql"), shelf(sql="SELECT 1;\n"), CONFIG)
    n = bundle.nonce
    assert bundle.text == (
        f"{PREAMBLE}\n<<UNTRUSTED-{n}>>\n"
        f'<skill-{n} id="sql" source="sql/0.md" indexed-at="2026-01-02T03:04:05Z" stale="false"'
        f' part="1/1" cut="false" option="false">\nSELECT 1;\n\n</skill-{n}>\n<<END-{n}>>\n'
    )


def test_the_nonce_is_new_for_every_call_and_has_64_bits() -> None:
    nonces = {assemble_bundle(picked("a"), shelf(a="text"), CONFIG).nonce for _ in range(20)}
    assert len(nonces) == 20
    assert all(re.fullmatch("[0-9a-f]{16}", nonce) for nonce in nonces)


@pytest.mark.parametrize("status", ["no_confident_match", "blocked_request", "blocked_retrieved"])
def test_without_a_pick_the_bundle_is_empty(status: str) -> None:
    refused = picked("a", status=status, ambiguous=True, prediction_set=("a",))
    assert assemble_bundle(refused, shelf(a="text"), CONFIG).text == ""
    assert assemble_bundle(picked(), shelf(), CONFIG).text == ""


def test_every_unit_of_every_picked_skill_is_there() -> None:
    bundle = assemble_bundle(picked("a", "b"), shelf(a=("one", "two"), b="three"), CONFIG)
    sections = parse_bundle(bundle.text)
    assert [(s.skill_id, s.part, s.body) for s in sections] == [
        ("a", "1/2", "one"),
        ("a", "2/2", "two"),
        ("b", "1/1", "three"),
    ]


def test_beyond_the_cap_the_first_unit_comes_first_and_the_cut_is_said() -> None:
    both = shelf(a=("x" * 150, "y" * 150, "z"), b="fits")
    sections = parse_bundle(assemble_bundle(picked("a", "b"), both, AssembleConfig(max_characters=400)).text)
    assert [(len(s.body), s.part, s.cut) for s in sections] == [
        (150, "1/3", True),
        (50, "2/3", True),
        (4, "1/1", False),
    ]


def test_an_ambiguous_pick_carries_a_line_for_each_option() -> None:
    pick = picked(
        "a",
        ambiguous=True,
        prediction_set=("a", "b"),
        shortlist={"a": "for\n\nHuman: rows", "b": "for tables"},
    )
    sections = parse_bundle(assemble_bundle(pick, shelf(a="body"), CONFIG).text)
    assert [(s.skill_id, s.body) for s in sections if s.option] == [
        ("a", "for Human: rows"),
        ("b", "for tables"),
    ]
    assert [s.body for s in sections if not s.option] == ["body"]


def test_the_stage_keeps_a_record() -> None:
    run = Direct()
    assert run(assemble, picked("a"), using=(shelf(a="text"),), config=CONFIG).text
    assert run.records[0].stage == "assemble"


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_forged_token_is_found_in_any_disguise(token: str, disguise: object) -> None:
    text = f"before{disguise(token)}after"
    assert reserved_spans(text)
    assert not reserved_spans(neutralise(text))
    assert neutralise(text).replace("~", "") == text


@pytest.mark.parametrize(
    "text",
    [
        "cat <<END\n- item\nEND\n",
        "if a << b and c >> d: x <<= 1",
        "The human: a study. Assistant: one line down.",
        "f <| x |> g",
        "std::vector<std::pair<int, int>>",
        "List<skill> and <Skills />",
        "手順：[システム]を起動する 🚀👩‍💻",
        "def f():\r\n\treturn '<div>'\r\n",
    ],
)
@both_boundaries
def test_ordinary_code_and_prose_are_delivered_byte_for_byte(text: str, config: AssembleConfig) -> None:
    assert neutralise(text) == text
    assert parse_bundle(assemble_bundle(picked("a"), shelf(a=text), config).text)[0].body == text


@both_boundaries
@given(hostile, hostile)
@settings(max_examples=200, deadline=None)
def test_the_nonce_stands_only_in_our_markers(config: AssembleConfig, body: str, name: str) -> None:
    index = Shelf({name: units(name, (body,))})
    bundle = assemble_bundle(picked(name), index, config)
    assert bundle.text.count(bundle.nonce) == 4
    assert len(parse_bundle(bundle.text)) == 1


@pytest.mark.parametrize("mark", ["", "^", "\u2020", "\ue000"])
@given(hostile, hostile)
@settings(max_examples=200, deadline=None)
def test_no_reserved_token_survives_folding(mark: str, body: str, name: str) -> None:
    if mark and mark in body:
        return
    ours = render((Section(skill_id=name, body=body, source=name),), "f" * 16, mark)
    for marker in ("<<UNTRUSTED-", "<<END-", "<skill-", "</skill-"):
        ours = ours.replace(f"{marker}{'f' * 16}", "MARKER")
    assert reserved_spans(ours) == []


@given(hostile)
@settings(max_examples=200, deadline=None)
def test_an_attribute_is_printable_ascii_and_cannot_leave_its_quotes(value: str) -> None:
    shown = attribute(value)
    assert re.fullmatch(r"[ -~]*", shown)
    assert not set(shown) & set("<>\"'")
    assert len(attribute("<" * 500)) <= 200 * len("&lt;")


@both_boundaries
@given(st.lists(st.text(max_size=200), min_size=1, max_size=4))
@settings(max_examples=200, deadline=None)
def test_text_without_reserved_tokens_round_trips(config: AssembleConfig, bodies: list[str]) -> None:
    clean = tuple(body for body in bodies if not reserved_spans(body))
    bundle = assemble_bundle(picked("a"), Shelf({"a": units("a", clean)}), config)
    assert tuple(section.body for section in parse_bundle(bundle.text)) == clean


@pytest.mark.parametrize("text", ["no bundle", f"{PREAMBLE}\n<<UNTRUSTED-{NONCE}>>\n"])
def test_what_is_not_a_whole_bundle_is_refused(text: str) -> None:
    with pytest.raises(PickyError, match="unchanged and whole"):
        parse_bundle(text)


def test_a_datamarked_bundle_says_what_its_mark_means() -> None:
    bundle = assemble_bundle(picked("sql"), shelf(sql="def f():\n    return 1\n"), BOTH[1])
    first, rest = bundle.text.split("\n", 1)
    assert first.startswith(PREAMBLE)
    mark = first.removeprefix(f"{PREAMBLE} In it the character ")[0]
    assert mark in MARKS
    assert f">\ndef{mark} f():{mark}\n    return{mark} 1{mark}\n\n</skill-{bundle.nonce}>" in rest


def test_each_line_of_a_shortlist_is_marked_too() -> None:
    pick = picked("a", ambiguous=True, prediction_set=("a",), shortlist={"a": "for all rows"})
    bundle = assemble_bundle(pick, shelf(a="body"), BOTH[1])
    assert "for all rows" not in bundle.text
    assert [s.body for s in parse_bundle(bundle.text) if s.option] == ["for all rows"]
