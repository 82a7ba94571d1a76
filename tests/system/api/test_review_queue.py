"""The review queue through the API: each flagged order is claimed exactly once."""

import asyncio

from keyfence.auth.principal import Role
from tests.data.order_requests import CLAIM, FLAG, new_customer, new_product, order_input, place_order
from tests.stack import ApiClient, ServiceStack

QUEUE = "{ reviewQueue { edges { node { id flagged } } } }"


async def flag_orders(owner: ApiClient, count: int) -> list[str]:
    customer, pen = await new_customer(owner), await new_product(owner)
    order_ids = [(await place_order(owner, order_input(customer, (pen, 1))))["id"] for _ in range(count)]
    for order in order_ids:
        await owner.data(FLAG, id=order)
    return order_ids


async def test_a_flagged_order_waits_in_the_queue_until_it_is_claimed(owner: ApiClient) -> None:
    first, second = await flag_orders(owner, 2)
    data = (await owner.data(QUEUE))["reviewQueue"]["edges"]
    assert [edge["node"] for edge in data] == [{"id": first, "flagged": True}, {"id": second, "flagged": True}]
    claimed = (await owner.data(CLAIM))["claimReview"]
    assert (claimed["id"], claimed["flagged"]) == (first, False)
    assert claimed["history"][-1] == {"kind": "claimed", "by": "somebody"}
    assert (await owner.data(CLAIM))["claimReview"]["id"] == second
    assert (await owner.data(CLAIM))["claimReview"] is None
    assert (await owner.data(QUEUE))["reviewQueue"]["edges"] == []


async def test_concurrent_claims_get_different_orders(stack: ServiceStack, owner: ApiClient) -> None:
    order_ids = await flag_orders(owner, 4)
    claimants = [stack.api_client(owner.tenant, Role.MEMBER, user=f"u{n}") for n in range(8)]
    answers = await asyncio.gather(*(claimant.data(CLAIM) for claimant in claimants))
    claimed_ids = [answer["claimReview"]["id"] for answer in answers if answer["claimReview"]]
    assert sorted(claimed_ids) == sorted(order_ids)


async def test_an_order_is_flagged_once_and_with_a_reason(owner: ApiClient) -> None:
    (order,) = await flag_orders(owner, 1)
    assert await owner.error_code(FLAG, id=order) == "CONFLICT"
    assert await owner.error_code('mutation($id: ID!) { flagOrder(id: $id, reason: " ") { id } }', id=order) == (
        "BAD_USER_INPUT"
    )


async def test_flagged_orders_of_another_tenant_cannot_be_claimed(stack: ServiceStack, owner: ApiClient) -> None:
    await flag_orders(owner, 1)
    neighbour = stack.api_client(await stack.new_tenant())
    assert await neighbour.data(CLAIM) == {"claimReview": None}
    assert (await neighbour.data(QUEUE))["reviewQueue"]["edges"] == []
