"""What every answer tells browsers and caches."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))


class SecurityHeaders:
    """No guessing of types, no keeping of answers: each is for one caller, once."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        await self.app(scope, receive, send_with_headers)
