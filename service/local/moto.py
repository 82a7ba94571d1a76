"""moto as the engine: in this process, in memory, one memory for all its servers."""

import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from service.local.engine import EngineMissing, Progress

if TYPE_CHECKING:
    from moto.server import ThreadedMotoServer

HOST = "127.0.0.1"
ACCOUNT = "000000000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moto:
    """A moto server in threads of this process."""

    server: "ThreadedMotoServer"
    url: str
    name: str = "moto"
    persistent: bool = False

    def failure(self) -> str | None:
        return None

    def stop(self) -> None:
        self.server.stop()


def start(progress: Progress) -> Moto:
    progress("starting moto")
    try:
        from moto.server import ThreadedMotoServer
    except ImportError as error:
        raise EngineMissing("moto is not installed: install keyfence[local].") from error
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    os.environ.setdefault("MOTO_ACCOUNT_ID", ACCOUNT)
    server = ThreadedMotoServer(HOST, 0, verbose=False)
    server.start()
    return Moto(server=server, url=f"http://{HOST}:{server.get_host_and_port()[1]}")
