"""Chromium lets a page of an allowed origin call the API, and keeps the response from a page of another origin."""

import asyncio
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import uvicorn
from starlette.applications import Starlette

from keyfence.validation import LOCAL_ORIGINS
from tests.stack import ApiClient, ServiceStack

PAGE = """<!doctype html><title>Test</title><pre id="result">waiting</pre><script>
const result = document.getElementById("result");
fetch("{url}", {{
  method: "POST",
  headers: {{"content-type": "application/json", authorization: "Bearer {token}"}},
  body: JSON.stringify({{query: "{{ viewer {{ role }} }}"}}),
}}).then((response) => response.text()).then(
  (text) => {{ result.textContent = "read " + text; }},
  () => {{ result.textContent = "kept from the page"; }},
);
</script>"""


@pytest.fixture(scope="module")
def chromium() -> str:
    """Returns the path of Chromium. Skips the test if it is not installed. On CI, fails instead."""
    if path := shutil.which("chromium"):
        return path
    message = "Chromium is not installed; on Debian: apt-get install chromium"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)  # without Chromium, the other tests of origins still run


@contextmanager
def served(application: Starlette) -> Iterator[str]:
    """Serves the application on a free port of 127.0.0.1, in a thread, and yields its URL."""
    server = uvicorn.Server(uvicorn.Config(application, host="127.0.0.1", port=0, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/graphql"
    server.should_exit = True
    thread.join()


@contextmanager
def page_at(host: str, html: str) -> Iterator[str]:
    """Serves a page on a free port of this address, and yields its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_: object) -> None:
            """Prints nothing."""

    with ThreadingHTTPServer((host, 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://{host}:{server.server_port}/"
        server.shutdown()


def text_of_page(chromium: str, url: str, profile: Path) -> str:
    options = [
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={profile}", "--virtual-time-budget=10000", "--dump-dom",
    ]  # fmt: skip
    result = subprocess.run([chromium, *options, url], capture_output=True, text=True, timeout=60, check=True)
    return result.stdout.partition('id="result">')[2].partition("</pre>")[0]


@pytest.mark.one_engine
async def test_a_page_reads_the_response_only_if_its_origin_is_allowed(
    stack: ServiceStack, owner: ApiClient, chromium: str, tmp_path: Path
) -> None:
    settings = stack.settings.model_copy(update={"origins": (LOCAL_ORIGINS,)})
    client = replace(owner, application=stack.serve(settings=settings))
    texts = []
    with served(client.application) as api:
        for number, host in enumerate(("127.0.0.1", "127.0.0.2")):
            with page_at(host, PAGE.format(url=api, token=client.token)) as url:
                texts.append(await asyncio.to_thread(text_of_page, chromium, url, tmp_path / str(number)))
    assert texts == ['read {"data":{"viewer":{"role":"OWNER"}}}', "kept from the page"]
