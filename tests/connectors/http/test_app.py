"""Picks and skills over REST, MCP over HTTP, and the pages about them."""

import asyncio

import pytest
from mcp.client.client import Client

from pickysteve.tasks.assemble import parse_bundle

REQUEST = "the borrow checker rejects my struct with a reference in it"


def test_a_pick_over_rest_is_the_same_as_elsewhere(serving, local_engine):
    with serving() as client:
        answer = client.post("/pick", json={"request": REQUEST}).json()
        assert answer["picks"] == list(local_engine.service.pick(REQUEST).pick.skills)
        assert parse_bundle(answer["bundle"])[0].skill_id == answer["picks"][0]
        without = client.post("/pick", json={"request": REQUEST, "exclude": answer["picks"]}).json()
        assert answer["picks"][0] not in without["picks"]


def test_a_mistake_is_one_sentence_with_a_status(serving):
    with serving() as client:
        for body in (
            {},
            {"request": 3},
            {"request": " "},
            {"request": "x", "reqest": 1},
            {"request": "x", "exclude": ["no"]},
        ):
            answer = client.post("/pick", json=body)
            assert answer.status_code == 400, body
            assert answer.json()["error"]["message"].endswith((".", "?"))
        assert client.get("/nothing").status_code == 404
        assert client.get("/pick").status_code == 405
        assert client.get("/skills?limit=0").status_code == 400
        assert client.get("/skills/no-such-skill").status_code == 400


def test_skills_are_paged_and_loaded(serving, engines):
    with serving() as client:
        page = client.get("/skills?limit=3").json()
        assert page["skills"] == list(engines.index.skills)[:3] and page["next_cursor"] == 3
        skill = client.get(f"/skills/{page['skills'][0]}").json()
        assert parse_bundle(skill["bundle"])[0].skill_id == page["skills"][0]


def test_health_and_numbers(serving, engines):
    with serving() as client:
        assert client.get("/healthz").json() == {"status": "ok", "skills": len(engines.index.skills)}
        client.post("/pick", json={"request": REQUEST})
        numbers = client.get("/metrics").text
        assert 'pickysteve_picks_total{status="ok"} 1.0' in numbers
        assert "borrow checker" not in numbers


def test_every_described_path_is_served(serving):
    with serving() as client:
        described = client.get("/openapi.json").json()["paths"]
        for path, operations in described.items():
            for method in operations:
                real = path.replace("{skill}", "rust-review")
                answer = client.request(method, real, json={} if method == "post" else None)
                assert answer.status_code not in (404, 405), path
        assert "/v1/messages" in client.get("/docs").text


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_mcp_over_http_answers_the_official_client(serving, path, mode):
    async def work(address):
        async with Client(f"{address}{path}", mode=mode) as client:
            return await client.call_tool("pick_context", {"request": REQUEST})

    with serving() as http:
        result = asyncio.run(work(str(http.base_url).rstrip("/")))
        assert result.structured_content["skills"] == ["rust-build-errors"]
        assert http.post(path, json={}, headers={"origin": "https://evil.example"}).status_code == 403
