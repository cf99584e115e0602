"""Strangers, floods and dawdlers, over real sockets."""

import socket
import threading
import time

import pytest

from pickysteve.connectors.http.entrance import host_name

JSON = {"content-type": "application/json"}
HEAD = b"POST /pick HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: "


def raw(address, data, *, pause=0.0, more=b""):
    """What the server answers to these bytes."""
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(data)
        time.sleep(pause)
        if more:
            connection.sendall(more)
        received = b""
        while part := connection.recv(65_536):
            received += part
            if b"\r\n\r\n" in received and b"}" in received.split(b"\r\n\r\n", 1)[1]:
                break
    return received


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("127.0.0.1:8077", "127.0.0.1"),
        ("[::1]:80", "::1"),
        ("LOCALHOST", "localhost"),
        ("", ""),
        ("::1", "::1"),
    ],
)
def test_the_name_in_a_host_header(host, name):
    assert host_name(host) == name


def test_pages_and_names_of_others_are_refused(serving):
    with serving() as client:
        for headers in (
            {"host": "evil.example"},
            {"host": "127.0.0.1.evil.example"},
            {"origin": "https://evil.example"},
            {"origin": "null"},
        ):
            answer = client.get("/skills", headers=headers)
            assert answer.status_code == 403, headers
            assert answer.json()["error"]["message"]
        assert client.get("/skills", headers={"origin": "http://localhost:8077"}).status_code == 200


def test_only_json_is_read(serving):
    with serving() as client:
        assert client.post("/pick", content=b"{}", headers={"content-type": "text/plain"}).status_code == 415
        assert client.post("/pick", content=b"[1]", headers=JSON).status_code == 400
        assert client.post("/pick", content=b"[" * 100_000, headers=JSON).status_code == 400
        assert client.post("/pick", content=b"\xff{", headers=JSON).status_code == 400


def test_a_long_body_is_refused_whether_it_says_so_or_not(serving):
    with serving(max_body_bytes=100_000) as client:
        big = b'{"request": "' + b"x" * 200_000 + b'"}'
        assert client.post("/pick", content=big, headers=JSON).status_code == 413

        def chunks():
            for _ in range(40):
                yield b"x" * 10_000

        assert client.post("/pick", content=chunks(), headers=JSON).status_code == 413


def test_forty_megabytes_are_refused_without_being_read(serving):
    with serving() as client:
        assert b" 413 " in raw(str(client.base_url).rstrip("/"), HEAD + b"41943040\r\n\r\n")


def test_a_body_that_dawdles_is_cut_off(serving):
    with serving(body_seconds=0.3) as client:
        answer = raw(str(client.base_url).rstrip("/"), HEAD + b'50\r\n\r\n{"req', pause=0.6)
        assert b" 408 " in answer


@pytest.mark.parametrize("length", [b"-1", b"abc", b"1e3"])
def test_a_length_that_is_none_is_refused(serving, length):
    with serving() as client:
        head = (
            b"POST /pick HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: "
            + length
        )
        answer = raw(str(client.base_url).rstrip("/"), head + b'\r\n\r\n{"request": "hello"}')
        assert b" 400 " in answer or b" 413 " in answer


def test_what_goes_beyond_the_length_is_no_part_of_the_body(serving):
    with serving() as client:
        address = str(client.base_url).rstrip("/")
        answer = raw(address, HEAD + b'5\r\n\r\n{"request": "hello"}')
        assert b" 400 " in answer and b"not JSON" in answer
        both = HEAD + b"21\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /skills HTTP/1.1\r\n\r\n"
        assert b" 400 " in raw(address, both)
        assert client.get("/skills").status_code == 200


def test_a_body_that_ends_before_its_length_is_never_acted_on(serving):
    with serving() as client:
        host, port = str(client.base_url).removeprefix("http://").rstrip("/").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(HEAD + b'5000\r\n\r\n{"request": "borrow checker"}')
        numbers = client.get("/metrics").text
        assert "pickysteve_picks_total{" not in numbers


def test_a_token_is_asked_for_where_one_is_set(serving):
    with serving(token="tell-nobody") as client:
        assert client.get("/skills").status_code == 401
        assert client.get("/skills", headers={"authorization": "Bearer wrong"}).status_code == 401
        assert client.get("/skills", headers={"authorization": "Bearer tell-nobody"}).status_code == 200
        assert client.get("/skills", headers={"x-api-key": "tell-nobody"}).status_code == 200


def test_a_full_server_says_so_and_serves_again_later(serving, model_host):
    model_host.pause = 0.2
    call = {"model": "m", "stream": True, "messages": [{"role": "assistant", "content": "x"}]}
    with serving(at_once=2) as client:
        results = []

        def stream():
            with client.stream("POST", "/v1/chat/completions", json=call) as answer:
                results.append((answer.status_code, len(answer.read())))

        threads = [threading.Thread(target=stream) for _ in range(2)]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 5
        while (refused := client.get("/openapi.json")).status_code != 503 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert refused.status_code == 503 and refused.headers["retry-after"]
        for thread in threads:
            thread.join()
        assert [status for status, _ in results] == [200, 200]
        assert client.get("/openapi.json").status_code == 200
