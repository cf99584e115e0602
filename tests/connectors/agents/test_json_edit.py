"""JSON text is edited in place: the data is as expected, and every other character is as it was."""

import json
from itertools import cycle

import json5
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pickysteve.connectors.agents.data import EditRefused, placed, same
from pickysteve.connectors.agents.edit import connected, disconnected
from pickysteve.connectors.agents.json_edit import drop_json, put_json
from pickysteve.connectors.agents.json_text import read_json
from pickysteve.connectors.agents.table import Entry

ROUTE = ("mcpServers", "pickysteve")
VALUE = {"command": "/opt/bin/pickysteve", "args": ["mcp"]}
ENTRY = Entry(route=ROUTE, value=VALUE)
NAMES = st.sampled_from(["mcpServers", "pickysteve", "other", "a b", 'q"uote', "ключ", "//", "{", ""])
SCALARS = st.sampled_from([None, True, 0, -1.5e300, "", "// no comment", 'a "b" {', "line\nbreak", "é\u2028"])
TABLES = st.dictionaries(NAMES, st.one_of(SCALARS, st.lists(SCALARS, max_size=2)), max_size=3)
DOCUMENTS = st.dictionaries(NAMES, st.one_of(SCALARS, TABLES, st.lists(TABLES, max_size=2)), max_size=3)
GAPS = ("", " ", "\t", "\n", "\n  ", " // c, { [\n", " /* x: 1, */ ")


def expected(data):
    return placed(data, ENTRY)


def as_text(data, gaps, commas):
    """A document as somebody might have written it: comments, odd spaces, trailing commas."""

    def value(data):
        if isinstance(data, dict):
            parts = [f"{json.dumps(k)}{next(gaps)}:{next(gaps)}{value(v)}" for k, v in data.items()]
            return "{" + joined(parts) + "}"
        if isinstance(data, list):
            return "[" + joined(list(map(value, data))) + "]"
        return json.dumps(data, ensure_ascii=False)

    def joined(parts):
        text = ",".join(f"{next(gaps)}{part}{next(gaps)}" for part in parts)
        return text + ("," + next(gaps) if parts and next(commas) else "" if parts else next(gaps))

    return next(gaps) + value(data) + next(gaps)


@st.composite
def written(draw):
    """Text and data of a document."""
    data = draw(DOCUMENTS)
    gaps = draw(st.lists(st.sampled_from(GAPS), min_size=1, max_size=7))
    commas = draw(st.lists(st.booleans(), min_size=1, max_size=3))
    text = as_text(data, cycle(gaps), cycle(commas))
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text, data


def put(text):
    return put_json(text, ROUTE, VALUE)


def without(longer, shorter):
    """What has to be deleted from the longer text to get the shorter one; None when that is impossible."""
    rest = iter(longer)
    return all(character in rest for character in shorter)


@settings(deadline=None)
@given(written())
def test_any_document_gains_the_entry_and_keeps_every_character(document):
    text, value = document
    try:
        wanted = expected(value)
    except EditRefused:
        return
    done = connected(text.encode(), "jsonc", (ENTRY,)).decode()
    assert same(json5.loads(done), wanted)
    assert connected(done.encode(), "jsonc", (ENTRY,)).decode() == done
    if "pickysteve" not in (value.get("mcpServers") or {}) and value.get("mcpServers", {}) is not None:
        assert without(done, text)


@settings(deadline=None)
@given(written())
def test_taking_out_what_was_put_in_gives_the_text_back(document):
    text, value = document
    servers = value.get("mcpServers")
    if not isinstance(servers, dict) or not servers or "pickysteve" in servers:
        return
    assert drop_json(put(text), ROUTE) == text


@settings(deadline=None)
@given(written())
def test_taking_out_leaves_the_rest_of_the_data(document):
    text, value = document
    try:
        longer = connected(text.encode(), "jsonc", (ENTRY,))
    except EditRefused:
        return
    left = read_json(disconnected(longer, "jsonc", (ENTRY,), value).decode(), "jsonc")
    (value.get("mcpServers") or {}).pop("pickysteve", None)
    assert same({k: v for k, v in left.items() if v}, {k: v for k, v in value.items() if v})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "s": {\n    "p": 1\n  }\n}\n'),
        ("{}", '{\n  "s": {\n    "p": 1\n  }\n}'),
        ('{"a":1}', '{"a":1, "s": {"p": 1}}'),
        ('{"s":{}}', '{"s":{"p": 1}}'),
        ('{\n\t"s": {\n\t\t"x": 2\n\t}\n}', '{\n\t"s": {\n\t\t"x": 2,\n\t\t"p": 1\n\t}\n}'),
        ('{\n  "a": 1 // one\n}', '{\n  "a": 1, // one\n  "s": {\n    "p": 1\n  }\n}'),
        ('{\n  "s": {\n    "x": 2, // two\n  },\n}', '{\n  "s": {\n    "x": 2, // two\n    "p": 1,\n  },\n}'),
        ('{\n  "s": {\n    // none yet\n  }\n}', '{\n  "s": {\n    // none yet\n    "p": 1\n  }\n}'),
        ('{\r\n    "a": 1\r\n}\r\n', '{\r\n    "a": 1,\r\n    "s": {\r\n        "p": 1\r\n    }\r\n}\r\n'),
        ("{s: {'x': 2}}", "{s: {'x': 2, \"p\": 1}}"),
        ('{"s": null}', '{"s": {\n  "p": 1\n}}'),
        ('{"s": {"p": 0}, "s": {"p": 0}}', '{"s": {"p": 0}, "s": {"p": 1}}'),
    ],
)
def test_a_new_member_takes_the_form_of_its_neighbours(before, after):
    assert put_json(before, ("s", "p"), 1) == after


def test_what_the_user_added_to_our_entry_stays():
    text = '{"mcpServers": {"pickysteve": {"command": "/old", "timeout": 9 /* mine */, "args": ["mcp"]}}}'
    done = put(text)
    assert done == text.replace('"/old"', '"/opt/bin/pickysteve"')


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{\n  "p": 1,\n  // about q\n  "q": 2\n}', '{\n  // about q\n  "q": 2\n}'),
        ('{\n  "q": 2, // about q\n  "p": 1 // about p\n}', '{\n  "q": 2 // about q // about p\n}'),
        ('{\n  "q": 2, // about q\n  "p": 1, "r": 3\n}', '{\n  "q": 2, // about q\n  "r": 3\n}'),
        ('{ "q": 2, "p": 1 }', '{ "q": 2 }'),
        ('{"p": 1, /* kept */ "p": 2}', "{/* kept */}"),
    ],
)
def test_comments_around_a_member_that_goes_stay(text, left):
    assert drop_json(text, ("p",)) == left


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("json", '{"a": 1,}'),
        ("json", '{"a": 1} // note'),
        ("json", '{"a": NaN}'),
        ("json", '{"a": 1'),
        ("json-comments", '{"a": 1, /* fatal there */}'),
        ("json-comments", "{a: 1}"),
        ("jsonc", "{'a': 1}"),
        ("jsonc", '{"a": 1} x'),
        ("json5", "{a: 1,,}"),
        ("json5", "{\ufeffa b: 1}"),
        ("json", "[" * 100_000),
        ("json5", '{"a": /* never closed }'),
    ],
)
def test_what_the_agent_itself_could_not_read_is_refused(form, text):
    with pytest.raises(EditRefused):
        connected(text.encode(), form, (ENTRY,))


@pytest.mark.parametrize(("form", "text"), [
    ("json-comments", '// top\n{"a": 1 /* b */}'),
    ("jsonc", '{"a": [1, 2,], // c\n}'),
    ("json5", "{a: 'x', b: +.5, c: Infinity, d: NaN,}"),
])  # fmt: skip
def test_what_the_agent_can_read_is_read(form, text):
    assert same(read_json(text, form), json5.loads(text))


@pytest.mark.parametrize("text", ['{"mcpServers": []}', '{"mcpServers": "x"}', "[]", "3"])
def test_a_route_through_something_else_is_refused(text):
    with pytest.raises(EditRefused, match="not a table"):
        connected(text.encode(), "json", (ENTRY,))


def test_an_entry_for_an_address_gives_way_whole():
    text = b'{"mcpServers": {"pickysteve": {"url": "http://127.0.0.1:1/mcp", "headers": {}}, "x": {}}}'
    assert json.loads(connected(text, "json", (ENTRY,)))["mcpServers"] == {"x": {}, "pickysteve": VALUE}


def test_a_mark_at_the_start_stays_and_other_encodings_are_refused():
    mark = "\ufeff".encode()
    assert connected(mark + b"{}", "json", (ENTRY,)).startswith(mark + b"{")
    with pytest.raises(EditRefused, match="UTF-8"):
        connected("{}".encode("utf-16"), "json", (ENTRY,))
