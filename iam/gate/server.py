"""A running gate: in a thread of its own, or in the foreground of a command."""

import errno
import socket
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from iam.gate.account import Account
from iam.gate.application import Application
from iam.gate.clock import Clock, utc_now
from iam.gate.denial import Denials, Listener, unheard
from iam.gate.engine.upstream import Upstream
from iam.gate.faults.fault import Fault
from iam.gate.faults.plan import Faults
from iam.gate.rules import Rules
from iam.gate.serving import Server
from iam.gate.sessions import Sessions

HOST = "127.0.0.1"
START_SECONDS = 15


class GateFailed(Exception):
    """A gate that cannot listen, or that did not start."""


class Gate:
    """What it goes by may be replaced while it runs, and holds from the next call on."""

    def __init__(
        self,
        *,
        engine_url: str,
        account: Account,
        key: bytes,
        port: int = 0,
        strict: bool = False,
        faults: Iterable[Fault] = (),
        clock: Clock = utc_now,
        on_denied: Listener = unheard,
        listener: socket.socket | None = None,
    ) -> None:
        """On `listener` if one is given, else on a socket of its own; both listen from here on."""
        upstream = Upstream(engine_url)
        self.sessions = Sessions(account, key, clock=clock)
        self._rules = Rules(sessions=self.sessions, strict=strict, denials=Denials(on_denied))
        self.faults = faults
        self._server = Server(Application(self._rules, upstream))
        self._thread = threading.Thread(target=self._run, name="gate", daemon=True)
        self._listener = listener or _listening(port)
        self.url = f"http://{HOST}:{self._listener.getsockname()[1]}"

    @classmethod
    def start(
        cls,
        *,
        engine_url: str,
        account: Account,
        key: bytes,
        port: int = 0,
        strict: bool = False,
        faults: Iterable[Fault] = (),
        clock: Clock = utc_now,
        on_denied: Listener = unheard,
    ) -> Self:
        """A gate in a thread of this process."""
        gate = cls(
            engine_url=engine_url,
            account=account,
            key=key,
            port=port,
            strict=strict,
            faults=faults,
            clock=clock,
            on_denied=on_denied,
        )
        gate._thread.start()
        gate._await_start()
        return gate

    @property
    def account(self) -> Account:
        return self.sessions.account

    @account.setter
    def account(self, account: Account) -> None:
        self.sessions.govern(account)

    @property
    def faults(self) -> tuple[Fault, ...]:
        return self._rules.faults.faults

    @faults.setter
    def faults(self, faults: Iterable[Fault]) -> None:
        """Counted from the beginning."""
        self._rules.faults = Faults(faults)

    @property
    def strict(self) -> bool:
        return self._rules.strict

    @strict.setter
    def strict(self, strict: bool) -> None:
        self._rules.strict = strict

    @property
    def denials(self) -> Denials:
        return self._rules.denials

    def serve(self, ready: Callable[[], None]) -> None:
        """In the foreground, until the process is told to end."""
        self._server.on_ready = ready
        self._run()

    def stop(self) -> None:
        """Calls that are under way are answered first."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        self._server.run(sockets=[self._listener])

    def _await_start(self) -> None:
        if not self._server.ready.wait(START_SECONDS):
            self.stop()
            raise GateFailed("the gate did not start")


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        raise GateFailed(f"port {port} on {HOST} is already in use" if taken else str(error)) from error
