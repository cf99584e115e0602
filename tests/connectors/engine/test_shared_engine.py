"""The background engine: one for many clients, gone when idle, replaced when killed."""

import asyncio
import os
import signal
import stat
import time
from pathlib import Path

import pytest
from mcp.client.client import Client

from pickysteve.connectors.engine.client import LocalEngine, SharedEngine
from pickysteve.connectors.engine.place import engine_place
from pickysteve.connectors.mcp_server import make_mcp_server
from pickysteve.errors import EngineUnavailable, RequestInvalid
from pickysteve.flows.settings import load_settings

REQUEST = "the borrow checker rejects my struct with a reference in it"


def engine_pids(place) -> list[int]:
    """The processes that hold the engine's lock file open."""
    return [int(process.name) for process in Path("/proc").glob("[0-9]*") if holds(process, place.lock)]


def holds(process: Path, lock: Path) -> bool:
    try:
        return any(open_file.readlink() == lock for open_file in (process / "fd").iterdir())
    except OSError:
        return False  # it ended meanwhile


@pytest.fixture
def shared(variables, monkeypatch):
    monkeypatch.setenv("PS_ENGINE_IDLE_SECONDS", "20")
    engine = SharedEngine(load_settings())
    place = engine_place(engine.settings)
    yield engine, place
    for pid in engine_pids(place):
        os.kill(pid, signal.SIGKILL)


def test_eight_clients_at_once_start_one_engine_and_get_one_answer(shared):
    engine, place = shared

    async def ask():
        clients = [SharedEngine(engine.settings) for _ in range(8)]
        return await asyncio.gather(*(client.call("pick", text=REQUEST) for client in clients))

    answers = asyncio.run(ask())
    assert {tuple(answer["picks"]) for answer in answers} == {("rust-build-errors",)}
    assert len({answer["run_id"] for answer in answers}) == 8
    assert len(engine_pids(place)) == 1
    assert stat.S_IMODE(place.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(place.log.stat().st_mode) == 0o600


def test_errors_cross_the_socket_as_themselves(shared):
    engine, _ = shared
    with pytest.raises(RequestInvalid, match="empty"):
        asyncio.run(engine.call("pick", text=" "))
    with pytest.raises(RequestInvalid, match="no call"):
        asyncio.run(engine.call("drop_table"))
    with pytest.raises(RequestInvalid, match="exclude"):
        asyncio.run(engine.call("pick", text=REQUEST, exclude=3))


def test_a_killed_engine_is_told_and_the_next_call_gets_a_new_one(shared):
    engine, place = shared

    async def kill_in_the_middle():
        call = asyncio.create_task(engine.call("pick", text="review this. " * 4_000))
        while not (pids := engine_pids(place)) or not place.socket.exists():
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.3)
        os.kill(pids[0], signal.SIGKILL)
        await call

    with pytest.raises(EngineUnavailable, match="ask again"):
        asyncio.run(kill_in_the_middle())
    assert asyncio.run(engine.call("pick", text=REQUEST))["picks"] == ["rust-build-errors"]


def test_an_agent_is_told_of_a_killed_engine_and_its_next_call_works(shared):
    engine, place = shared

    async def work():
        async with Client(make_mcp_server(engine)) as client:
            await client.call_tool("list_skills", {"limit": 1})
            (pid,) = engine_pids(place)
            asked = {"request": "review this. " * 4_000}
            call = asyncio.create_task(client.call_tool("pick_context", asked))
            await asyncio.sleep(0.3)
            os.kill(pid, signal.SIGKILL)
            return await call, await client.call_tool("pick_context", {"request": REQUEST})

    broken, well = asyncio.run(work())
    assert broken.is_error and "ask again" in broken.content[0].text
    assert well.structured_content["skills"] == ["rust-build-errors"]


def test_an_idle_engine_stops_and_leaves_no_socket(variables, monkeypatch):
    monkeypatch.setenv("PS_ENGINE_IDLE_SECONDS", "1")
    engine = SharedEngine(load_settings())
    place = engine_place(engine.settings)
    asyncio.run(engine.call("skills"))
    deadline = time.monotonic() + 30
    while engine_pids(place) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not engine_pids(place) and not place.socket.exists()


def test_an_engine_that_cannot_start_says_where_to_look(variables, monkeypatch):
    engine = SharedEngine(load_settings())
    monkeypatch.setenv("PS_NO_SUCH_SETTING", "1")
    with pytest.raises(EngineUnavailable, match="does not start: see"):
        asyncio.run(engine.call("skills"))


def test_a_folder_that_others_can_open_is_refused(variables, tmp_path):
    (tmp_path / "pickysteve").mkdir(mode=0o755)
    (tmp_path / "pickysteve").chmod(0o755)
    with pytest.raises(EngineUnavailable, match="only this account"):
        engine_place(load_settings())


def test_without_a_runtime_folder_of_the_session_nothing_is_said(variables, monkeypatch):
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert engine_place(load_settings()).folder.name == "pickysteve"


def test_an_engine_in_this_process_answers_the_same(small_settings):
    answer = asyncio.run(LocalEngine(small_settings).call("pick", text=REQUEST))
    assert answer["picks"] == ["rust-build-errors"]


def test_another_key_of_the_model_host_means_another_engine(variables, monkeypatch):
    places = set()
    for key in ("sk-first", "sk-second"):
        monkeypatch.setenv("PS_LLM__API_KEY", key)
        places.add(engine_place(load_settings()))
    assert len(places) == 2
