"""The review queue through the API: each flagged order is claimed exactly once."""

import asyncio

from keyfence.auth.principal import Role
from tests.data.order_requests import CLAIM, FLAG, new_customer, new_product, order_input, place_order
from tests.stack import Session, World

QUEUE = "{ reviewQueue { edges { node { id flagged } } } }"


async def flagged(owner: Session, count: int) -> list[str]:
    customer, pen = await new_customer(owner), await new_product(owner)
    made = [(await place_order(owner, order_input(customer, (pen, 1))))["id"] for _ in range(count)]
    for order in made:
        await owner.ask(FLAG, id=order)
    return made


async def test_a_flagged_order_waits_in_the_queue_until_it_is_claimed(owner: Session) -> None:
    first, second = await flagged(owner, 2)
    shown = (await owner.ask(QUEUE))["reviewQueue"]["edges"]
    assert [edge["node"] for edge in shown] == [{"id": first, "flagged": True}, {"id": second, "flagged": True}]
    claimed = (await owner.ask(CLAIM))["claimReview"]
    assert (claimed["id"], claimed["flagged"]) == (first, False)
    assert claimed["history"][-1] == {"kind": "claimed", "by": "somebody"}
    assert (await owner.ask(CLAIM))["claimReview"]["id"] == second
    assert (await owner.ask(CLAIM))["claimReview"] is None
    assert (await owner.ask(QUEUE))["reviewQueue"]["edges"] == []


async def test_concurrent_claims_get_different_orders(world: World, owner: Session) -> None:
    made = await flagged(owner, 4)
    claimants = [world.session(owner.tenant, Role.MEMBER, user=f"u{n}") for n in range(8)]
    answers = await asyncio.gather(*(claimant.ask(CLAIM) for claimant in claimants))
    got = [answer["claimReview"]["id"] for answer in answers if answer["claimReview"]]
    assert sorted(got) == sorted(made)


async def test_an_order_is_flagged_once_and_with_a_reason(owner: Session) -> None:
    (order,) = await flagged(owner, 1)
    assert await owner.refusal(FLAG, id=order) == "CONFLICT"
    assert await owner.refusal('mutation($id: ID!) { flagOrder(id: $id, reason: " ") { id } }', id=order) == (
        "BAD_USER_INPUT"
    )


async def test_flagged_orders_of_another_tenant_cannot_be_claimed(world: World, owner: Session) -> None:
    await flagged(owner, 1)
    neighbour = world.session(await world.new_tenant())
    assert await neighbour.ask(CLAIM) == {"claimReview": None}
    assert (await neighbour.ask(QUEUE))["reviewQueue"]["edges"] == []
