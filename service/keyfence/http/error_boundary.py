"""Where exceptions that nobody expected end."""

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keyfence.graphql.errors import masked
from keyfence.http.reply import error_reply
from keyfence.http.request_id import request_id_of


class ErrorBoundary:
    """Answers 500 without a word of what happened; that is in the log, under the request's id."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        started = False

        async def send_and_note(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        except ClientDisconnect:
            return None
        except Exception as error:
            answer = error_reply(masked(error, request_id_of(scope)), status=500)
            if started:
                raise
            await answer.send(send)
