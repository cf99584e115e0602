"""Where the user's turns are in three APIs, and that adding context changes nothing else."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.connectors.http.dialects import CHAT, DIALECTS, MESSAGES, RESPONSES

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


def said(dialect, body):
    return [(turn.place, turn.text) for turn in dialect.turns(body)]


def test_turns_of_chat_are_the_users_messages_as_text_or_as_parts():
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "ok"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "two"}, {"type": "image_url", "image_url": {}}],
        },
        {"role": "tool", "content": "not a turn"},
    ]
    assert said(CHAT, {"messages": messages}) == [(1, "one"), (3, "two")]


def test_tool_results_are_no_turns_of_the_anthropic_api():
    result = {"type": "tool_result", "tool_use_id": "t", "content": "out"}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "one"}]},
        {"role": "assistant", "content": []},
        {"role": "user", "content": [result]},
    ]
    assert said(MESSAGES, {"messages": messages}) == [(0, "one")]


def test_responses_take_a_string_or_a_list():
    assert said(RESPONSES, {"input": "one"}) == [(0, "one")]
    parts = [{"role": "user", "content": [{"type": "input_text", "text": "two"}]}]
    assert said(RESPONSES, {"input": parts}) == [(0, "two")]


def test_notes_that_an_agent_wrote_are_no_part_of_what_the_user_said():
    text = "<system-reminder>today is Monday</system-reminder>fix my test"
    assert said(MESSAGES, {"messages": [{"role": "user", "content": text}]}) == [(0, "fix my test")]
    only = {"role": "user", "content": "<environment_context>cwd</environment_context>"}
    assert said(CHAT, {"messages": [only]}) == []


RULES = "Give back each file whole.\n\nYou MUST NOT leave out a line of it, whatever its length."


@pytest.mark.parametrize(
    ("dialect", "prompt"),
    [
        (CHAT, {"messages": [{"role": "system", "content": f"You edit files.\n{RULES}"}]}),
        (CHAT, {"messages": [{"role": "developer", "content": [{"type": "text", "text": RULES}]}]}),
        (RESPONSES, {"instructions": RULES, "input": []}),
        (MESSAGES, {"system": [{"type": "text", "text": RULES}], "messages": []}),
    ],
)
def test_a_reminder_of_the_system_prompt_at_the_end_is_no_part_of_it_either(dialect, prompt):
    def turns(text):
        messages = [*prompt[dialect.key], {"role": "user", "content": text}]
        return [turn.text for turn in dialect.turns({**prompt, dialect.key: messages})]

    assert turns(f"fix my test\n\n{RULES}\n") == ["fix my test"]
    # only whole paragraphs at the end, only word for word, and never all of the text
    assert turns(f"{RULES}\n\nfix my test") == [f"{RULES}\n\nfix my test"]
    assert turns(f"fix my test\n\n{RULES} Ever.") == [f"fix my test\n\n{RULES} Ever."]
    assert turns(RULES) == ["Give back each file whole."]


def test_a_reminder_is_found_behind_a_long_request_and_long_ones_cost_little():
    request = "word " * 10_000
    messages = [
        {"role": "system", "content": RULES},
        {"role": "user", "content": f"{request}\n\n{RULES}"},
        {"role": "user", "content": "a\n\n" * 200_000 + "b"},
    ]
    first, second = CHAT.turns({"messages": messages})
    assert first.text == request.strip() and len(second.text) == 600_001


def test_a_short_ending_that_a_prompt_holds_by_chance_stays():
    messages = [
        {"role": "system", "content": "Say yes, or no."},
        {"role": "user", "content": "is it?\n\nno."},
    ]
    assert said(CHAT, {"messages": messages}) == [(1, "is it?\n\nno.")]


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda d: d.path)
@given(value=JSON)
def test_a_body_that_is_not_of_the_api_has_no_turns(dialect, value):
    turns = dialect.turns({dialect.key: value})
    if not isinstance(value, str | list):
        assert turns == ()


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda d: d.path)
@given(
    texts=st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=4),
    as_parts=st.booleans(),
    extra=st.dictionaries(st.text(max_size=6), JSON, max_size=3),
)
def test_context_stands_at_the_end_of_its_turn_and_all_else_stays(dialect, texts, as_parts, extra):
    def content(text):
        return [{"type": dialect.part, "text": text, "cache_control": {"x": 1}}] if as_parts else text

    body = {**extra, dialect.key: [{"role": "user", "content": content(text), "n": 1} for text in texts]}
    before = copy.deepcopy(body)
    changed = dialect.with_context(body, {len(texts) - 1: "CONTEXT"})
    assert body == before
    assert {k: v for k, v in changed.items() if k != dialect.key} == {
        k: v for k, v in body.items() if k != dialect.key
    }
    assert changed[dialect.key][:-1] == body[dialect.key][:-1]
    last = changed[dialect.key][-1]["content"]
    text = last[-1]["text"] if as_parts else last
    assert text.endswith("CONTEXT")
    assert (last[:-1] == content(texts[-1])) if as_parts else last.startswith(texts[-1])
