"""Sends random GraphQL requests to the service as a caller, with POST or GET."""

import asyncio
import json
from random import Random
from urllib.parse import urlencode

from tests.fakes.asgi_client import GRAPHQL, JSON, AsgiResponse, send_request
from tests.isolation.fuzz.random_documents import RandomRequest
from tests.stack import ApiClient


async def send(client: ApiClient, request: RandomRequest, random: Random) -> AsgiResponse:
    """Sends the request. A request that the service cancels has no response, and gets the status 0 here."""
    try:
        return await _send(client, request, random)
    except asyncio.CancelledError:
        return AsgiResponse(status=0, headers={}, body=b"")


async def _send(client: ApiClient, request: RandomRequest, random: Random) -> AsgiResponse:
    """Sends the request, mostly as a POST. `random` decides on the method and the accepted media type."""
    headers = {"authorization": f"Bearer {client.token}", "accept": random.choice((JSON, GRAPHQL))}
    extensions = random.choice(("{}", '{"cost": true}', "null"))
    if random.random() < 0.05:
        parameters = {"query": request.query, "variables": request.variables, "extensions": extensions}
        query_string = urlencode(parameters, errors="replace").encode()
        return await send_request(
            client.application, path=client.path, query_string=query_string, headers=headers.items()
        )
    body = f'{{"query": {json.dumps(request.query)}, "variables": {request.variables}, "extensions": {extensions}}}'
    return await send_request(
        client.application,
        body.encode(),
        method="POST",
        path=client.path,
        headers={**headers, "content-type": JSON}.items(),
    )
