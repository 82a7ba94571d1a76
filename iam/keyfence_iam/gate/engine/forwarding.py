"""What of an allowed call goes to the engine: the body as it came, and the headers that were examined with it."""

from keyfence_iam.gate.answer import Answer
from keyfence_iam.gate.engine.upstream import Upstream
from keyfence_iam.gate.request import Request

HEADERS = frozenset(
    {
        b"accept",
        b"accept-encoding",
        b"amz-sdk-invocation-id",
        b"amz-sdk-request",
        b"authorization",
        b"content-type",
        b"date",
        b"user-agent",
        b"x-amz-api-version",
        b"x-amz-content-sha256",
        b"x-amz-date",
        b"x-amz-security-token",
        b"x-amz-target",
        b"x-amz-user-agent",
        b"x-amzn-trace-id",
    }
)
"""Named one by one: an engine could take any other for an instruction that nobody has judged."""


async def forward(request: Request, upstream: Upstream) -> Answer:
    return await upstream.post([header for header in request.headers if header[0] in HEADERS], request.body)
