"""A session with a standing server: patient with a busy database, plain about a server that is not there."""

import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, temporary_settings

from pickysteve.errors import ServerMissing
from pickysteve.flows.request import pick_orchestrated
from pickysteve.flows.server_session import orchestrated_session
from pickysteve.tasks.values import Request

pytestmark = pytest.mark.server
REFUSALS = 4


@pytest.fixture
def busy_server(server):
    """In front of the real server: each write is refused with 503 a few times, as by a busy SQLite."""
    refused = Counter()

    class Front(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.forward(b"")

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked = (self.command, self.path, body)
            if refused[asked] == REFUSALS:
                self.forward(body)
            else:
                refused[asked] += 1
                self.answer(503, b"{}")

        do_PATCH = do_POST  # noqa: N815

        def forward(self, body):
            kind = {"Content-Type": "application/json"}
            url = server.removesuffix("/api") + self.path
            found = httpx.request(self.command, url, content=body, headers=kind)
            self.answer(found.status_code, found.content)

        def answer(self, status, body):
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            if status != httpx.codes.NO_CONTENT:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Front) as front:
        front.daemon_threads = True
        threading.Thread(target=front.serve_forever, daemon=True).start()
        with temporary_settings({PREFECT_API_URL: f"http://127.0.0.1:{front.server_address[1]}/api"}):
            yield refused
        front.shutdown()


def test_a_run_outlasts_a_database_that_is_busy_at_every_write(busy_server, engines, small_settings):
    trace = pick_orchestrated(Request(text="why is this query slow"), engines, small_settings)
    assert (trace.pick.skills, trace.degraded) == (("postgres-tuning",), ())
    assert set(busy_server.values()) == {REFUSALS}
    assert {method for method, *_ in busy_server} == {"POST", "PATCH"}


def test_all_that_asks_for_a_client_in_a_session_gets_its_patient_one(on_server):
    with orchestrated_session() as client:
        assert get_client(sync_client=True) is client


def test_without_a_server_the_session_says_how_to_start_one():
    with (
        temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api"}),
        pytest.raises(ServerMissing, match="prefect server start"),
        orchestrated_session(),
    ):
        pass
