"""The filter sees text across the borders of events, and touches nothing else."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.connectors.http.filtering import OutputFilter, filter_answer, filter_body, filter_events

SECRET = "sesame"


def redact(text):
    return text.replace(SECRET, "[x]")


class Holding:
    """Redacts the secret word in a stream, and holds back what may be the start of it."""

    def __init__(self):
        self.held = ""

    def feed(self, text):
        text = redact(self.held + text)
        keep = max(k for k in range(len(SECRET)) if text.endswith(SECRET[:k]))
        self.held = text[len(text) - keep :] if keep else ""
        return text[: len(text) - keep]

    def close(self):
        rest, self.held = self.held, ""
        return rest


def run(parts):
    async def source():
        for part in parts:
            yield part

    async def collect():
        return [event async for event in filter_events(source(), OutputFilter(redact, Holding))]

    return b"".join(asyncio.run(collect()))


def chat(text=None, **more):
    delta = {} if text is None else {"content": text}
    choice = {"index": 0, "delta": delta, "finish_reason": None, **more}
    return b"data: " + json.dumps({"id": "c", "choices": [choice]}).encode() + b"\n\n"


def block(text):
    body = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
    return b"event: content_block_delta\ndata: " + json.dumps(body).encode() + b"\n\n"


def response(text, kind="output_text"):
    body = {"type": f"response.{kind}.delta", "output_index": 0, "content_index": 0, "delta": text}
    return b"event: response\ndata: " + json.dumps(body).encode() + b"\n\n"


def refusal(text):
    return response(text, "refusal")


OVER = b'data: {"type":"response.completed","response":{"output":[]}}\n\n'
STOP = b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'
DONE = b"data: [DONE]\n\n"


def text_of(stream):
    texts = []
    for event in stream.split(b"\n\n"):
        data = event.split(b"data: ")[-1]
        if data.startswith(b"{") and data.endswith(b"}"):
            body = json.loads(data)
            for choice in body.get("choices", ()):
                texts.append(choice["delta"].get("content") or "")
            if body.get("type") == "content_block_delta":
                texts.append(body["delta"]["text"])
            if body.get("type", "").startswith("response.") and "delta" in body:
                texts.append(body["delta"])
    return "".join(texts)


@pytest.mark.parametrize(
    ("make", "end"), [(chat, DONE), (block, STOP), (response, OVER), (refusal, OVER), (response, b"")]
)
@given(
    pieces=st.lists(st.text(alphabet="sesamx ", max_size=8), max_size=8),
    cut=st.integers(min_value=1, max_value=50),
)
def test_a_secret_is_found_wherever_the_deltas_part_it(make, end, pieces, cut):
    stream = b"".join(map(make, pieces)) + end
    parts = [stream[at : at + cut] for at in range(0, len(stream), cut)]
    assert text_of(run(parts)) == redact("".join(pieces))


def test_what_is_held_back_comes_before_the_event_that_ends_it():
    out = run([block("my ses"), STOP])
    assert text_of(out) == "my ses"
    assert out.endswith(STOP)
    assert text_of(run([chat("ses"), chat(None, finish_reason="stop"), DONE])) == "ses"


@pytest.mark.parametrize(
    "event",
    [
        b": a comment\n\n",
        b'event: ping\ndata: {"type":"ping","x":1}\n\n',
        b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"arguments":"sesame"}}]}}]}\n\n',
        b'data: {"choices":[],"usage":{"total_tokens":3}}\n\n',
        b"data: not json\n\n",
        DONE,
        chat("hi there"),
    ],
)
def test_every_other_byte_passes_unchanged(event):
    assert run([event]) == event


def test_the_whole_text_in_a_closing_event_is_redacted_too():
    event = (
        b'event: response.output_text.done\ndata: {"type":"response.output_text.done","text":"a sesame"}\n\n'
    )
    assert b"sesame" not in run([event])


def test_a_stream_that_ends_in_the_middle_gives_what_it_had():
    assert text_of(run([chat("half"), b'data: {"choi'])) == "half"


def test_of_a_whole_answer_only_texts_are_touched():
    answer = {
        "id": "sesame",
        "choices": [{"message": {"content": "a sesame", "tool_calls": [{"arguments": "sesame"}]}}],
        "content": [{"type": "text", "text": "sesame"}, {"type": "tool_use", "input": {"key": "sesame"}}],
    }
    clean = filter_answer(answer, redact)
    assert clean["choices"][0]["message"]["content"] == "a [x]"
    assert clean["content"][0]["text"] == "[x]"
    assert (clean["id"], clean["choices"][0]["message"]["tool_calls"]) == (
        "sesame",
        answer["choices"][0]["message"]["tool_calls"],
    )


@pytest.mark.parametrize(
    ("content", "clean"),
    [
        (b'{ "content" :"hi" }', b'{ "content" :"hi" }'),
        (b'{"content": "a sesame"}', b'{"content": "a [x]"}'),
        (b"a sesame, \xff and no JSON", b"a [x], \xff and no JSON"),
        (b"[" * 100_000 + b"sesame", b"[" * 100_000 + b"[x]"),
    ],
    ids=["nothing to redact", "redacted", "no JSON", "nested too deeply"],
)
def test_a_whole_body_keeps_every_byte_but_what_is_redacted(content, clean):
    assert filter_body(content, redact) == clean
