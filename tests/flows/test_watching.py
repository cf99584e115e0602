"""Watching: which places, and that a change becomes an event on a real server."""

import threading
from datetime import UTC, datetime, timedelta

import pytest

from pickysteve.errors import RegistryMissing, ServerMissing
from pickysteve.flows.server_session import orchestrated_session
from pickysteve.flows.watching import REGISTRY_CHANGED, watch_registry, watched_places


def test_a_folder_is_watched_itself_and_a_set_with_the_folders_that_it_names(tmp_path) -> None:
    skills = tmp_path / "skills"
    skills.mkdir()
    assert watched_places(skills) == (skills,)
    team = tmp_path / "team.toml"
    team.write_text(
        '[[source]]\nname = "a"\nkind = "skills"\npath = "skills"\n'
        '[[source]]\nname = "gone"\nkind = "skills"\npath = "gone"\n'
        '[[source]]\nname = "far"\nkind = "git"\nurl = "https://example.org/skills.git"\n'
    )
    assert watched_places(team) == (team, skills)


def test_a_registry_that_is_not_there_cannot_be_watched(tmp_path) -> None:
    with pytest.raises(RegistryMissing, match="--registry"):
        watched_places(tmp_path / "none")


def test_without_a_server_nothing_is_watched(tmp_path, monkeypatch) -> None:
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with (
        temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api"}),
        pytest.raises(ServerMissing, match="prefect server start"),
    ):
        watch_registry(tmp_path, print)


@pytest.mark.server
def test_a_change_becomes_an_event_and_a_changed_set_is_read_anew(on_server, tmp_path, wait_until) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    team = tmp_path / "team.toml"
    entry = '[[source]]\nname = "{0}"\nkind = "skills"\npath = "{0}"\n'
    team.write_text(entry.format("first"))
    said, stop = [""], threading.Event()
    watching = threading.Thread(target=in_its_own_settings, args=(on_server, team, said.append, stop))
    watching.start()
    try:
        wait_until(lambda: len(said) > 1)
        both = entry.format("first") + entry.format("second")
        # again and again: nobody knows when exactly the system begins to watch
        wait_until(lambda: team.write_text(both) and str(tmp_path / "second") in said[-1], pause=1)
        seen = len(said)
        new = tmp_path / "second" / "SKILL.md"
        wait_until(lambda: new.write_text("---\nname: new\n---\n") and len(said) > seen, pause=1)
    finally:
        stop.set()
        watching.join(timeout=20)
    assert not watching.is_alive()
    events = wait_until(lambda: events_of(team) if len(events_of(team)) >= 3 else None)
    assert {event["resource"]["prefect.resource.name"] for event in events} == {str(team)}


def in_its_own_settings(server, registry, tell, stop) -> None:
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with temporary_settings({PREFECT_API_URL: server}):
        watch_registry(registry, tell, stop)


def events_of(registry) -> list[dict]:
    since = (datetime.now(UTC) - timedelta(minutes=5)).isoformat()
    wanted = {"event": {"name": [REGISTRY_CHANGED]}, "occurred": {"since": since}}
    with orchestrated_session() as client:
        found = client.request("POST", "/events/filter", json={"filter": wanted}).json()["events"]
    return [event for event in found if event["resource"]["prefect.resource.name"] == str(registry)]
