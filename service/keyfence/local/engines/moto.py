"""The moto engine: a server in this process. All moto servers in one process share their data."""

import logging
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from keyfence.local.engines.engine import EngineMissing, OnProgress

if TYPE_CHECKING:
    from werkzeug.serving import BaseWSGIServer

WsgiApplication = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

HOST = "127.0.0.1"
ACCOUNT = "000000000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moto:
    """A moto server in threads of this process."""

    server: "BaseWSGIServer"
    thread: Thread
    name: str = "moto"
    is_persistent: bool = False

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server.port}"

    def failure(self) -> str | None:
        return None

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def start(on_progress: OnProgress) -> Moto:
    on_progress("starting moto")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    os.environ.setdefault("MOTO_ACCOUNT_ID", ACCOUNT)
    for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE"):
        os.environ.pop(name, None)  # moto opens a boto3 session, which fails if the profile does not exist
    server = _new_server()
    thread = Thread(target=server.serve_forever, name="moto", daemon=True)
    thread.start()
    return Moto(server=server, thread=thread)


def _new_server() -> "BaseWSGIServer":
    try:
        from moto.moto_server.werkzeug_app import (
            DomainDispatcherApplication,
            MotoRequestHandler,
            create_backend_app,
        )
        from werkzeug.serving import make_server

        from keyfence.local.engines import moto_patches
    except ImportError as error:
        raise EngineMissing("moto is not installed: install keyfence[local].") from error
    moto_patches.install_rollback()
    moto_patches.install_request_tokens()
    application = _one_at_a_time(DomainDispatcherApplication(create_backend_app))
    return make_server(HOST, 0, application, threaded=True, request_handler=MotoRequestHandler)


def _one_at_a_time(application: WsgiApplication) -> WsgiApplication:
    """Returns an application that serves one request at a time.

    moto has no locks, so concurrent transactions would undo each other's writes.
    """
    lock = Lock()

    def serve(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        with lock:
            return list(application(environ, start_response))

    return serve
