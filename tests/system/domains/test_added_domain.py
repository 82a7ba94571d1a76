"""A domain that KEYFENCE_DOMAINS adds is served, sharded, imported, exported and fenced like the built-in ones."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from io import BytesIO
from typing import Any

import pytest
from botocore.exceptions import ClientError

from keyfence.app.domain_loading import load_domains
from keyfence.bulk.exporter import Exporter
from keyfence.bulk.importer import Importer
from keyfence.bulk.json_lines import encode_line
from keyfence.bulk.record_kind import IMPORTER
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.store.shards import ShardCounts, ShardMap
from keyfence.store.table import Table
from keyfence_iam.tenant import TenantId
from tests.stack import ApiClient, ServiceStack
from tests.system.domains.invoices.access_patterns import newest_invoices
from tests.system.domains.invoices.repository import InvoiceRepository
from tests.system.domains.test_registration import INVOICES, WITHOUT_SHOP

DOMAINS = (INVOICES, *WITHOUT_SHOP)
CREATE = """
mutation($number: String!, $debtor: String!) {
  createInvoice(number: $number, debtor: $debtor, amountDue: "19.90") { id number amountDue paidAt }
}
"""
RESHARD = """
mutation($tenant: ID!, $shards: Int!) {
  reshard(tenant: $tenant, collection: "invoices", shards: $shards) { readShards writeShards }
}
"""
LIST = """
query($after: String) {
  invoices(first: 2, after: $after) { edges { node { id } } pageInfo { hasNextPage endCursor } }
}
"""


@pytest.fixture(scope="module")
def stack(engine_url: str, issuer: DevelopmentIssuer) -> Iterator[ServiceStack]:
    """The service with invoices and without the domains of the shop, as KEYFENCE_DOMAINS says."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("KEYFENCE_DOMAINS", ",".join(DOMAINS))
        stack = ServiceStack.start(engine_url, "keyfence-invoices", issuer)
    assert stack.settings.domains == DOMAINS
    yield stack
    stack.close()


async def create_invoices(owner: ApiClient, count: int, debtor: str = "Ann") -> list[str]:
    responses = [await owner.data(CREATE, number=f"R-{number}", debtor=debtor) for number in range(count)]
    return [str(response["createInvoice"]["id"]) for response in responses]


async def list_ids(owner: ApiClient) -> list[str]:
    ids, after = list[str](), None
    while True:
        page: dict[str, Any] = (await owner.data(LIST, after=after))["invoices"]
        ids += [edge["node"]["id"] for edge in page["edges"]]
        if not page["pageInfo"]["hasNextPage"]:
            return ids
        after = page["pageInfo"]["endCursor"]


async def test_invoices_are_created_listed_in_pages_updated_and_found_by_id(owner: ApiClient) -> None:
    assert await list_ids(owner) == []
    ids = await create_invoices(owner, 5)
    assert await list_ids(owner) == ids[::-1]
    paid = await owner.data("mutation($id: ID!) { payInvoice(id: $id) { paidAt } }", id=ids[0])
    assert paid["payInvoice"]["paidAt"]
    found = await owner.data("query($id: ID!) { node(id: $id) { id ... on Invoice { number paidAt } } }", id=ids[0])
    assert found["node"] == {"id": ids[0], "number": "R-0", "paidAt": paid["payInvoice"]["paidAt"]}
    of_debtor = await owner.data('{ invoicesOfDebtor(debtor: "Ann") { edges { node { id paidAt } } } }')
    assert [edge["node"]["id"] for edge in of_debtor["invoicesOfDebtor"]["edges"]] == ids[::-1]
    assert of_debtor["invoicesOfDebtor"]["edges"][-1]["node"]["paidAt"] == paid["payInvoice"]["paidAt"]


async def test_changes_are_logged_as_activity(owner: ApiClient) -> None:
    (id,) = await create_invoices(owner, 1)
    log = await owner.data("{ activity(first: 1) { edges { node { kind target } } } }")
    assert log["activity"]["edges"][0]["node"] == {"kind": "invoice.created", "target": id}


async def test_a_list_is_the_same_in_any_number_of_shards(stack: ServiceStack, tenant: TenantId) -> None:
    for count in (1, 4):
        shards = ShardMap({"invoices": ShardCounts(read_shards=4, write_shards=count)})
        repository = InvoiceRepository(stack.table(tenant, shards=shards))
        for number in range(6):
            await repository.create(number=f"{count}-{number}", debtor="Bob", amount_due=Decimal(1))
    table = stack.table(tenant, shards=ShardMap({"invoices": ShardCounts(read_shards=4, write_shards=4)}))
    numbers = [invoice.number async for invoice in table.iterate(newest_invoices)]
    assert numbers == [f"{count}-{number}" for count in (4, 1) for number in range(5, -1, -1)]


async def test_an_operator_sees_and_reshards_the_collection_of_invoices(stack: ServiceStack, tenant: TenantId) -> None:
    operator = stack.operator_client()
    shards = await operator.data("query($id: ID!) { tenant(id: $id) { shards { collection } } }", id=tenant)
    assert {"collection": "invoices"} in shards["tenant"]["shards"]
    assert {"collection": "open_orders"} not in shards["tenant"]["shards"]
    response = await operator.data(RESHARD, tenant=tenant, shards=16)
    assert response["reshard"] == {"readShards": 16, "writeShards": 1}
    assert await operator.error_code(RESHARD, tenant=tenant, shards=17) == "BAD_USER_INPUT"


async def export_invoices(table: Table) -> bytes:
    kinds = load_domains(DOMAINS).record_kinds
    return b"".join([encode_line(line) async for line in Exporter(table, kinds).lines()])


async def test_records_are_exported_and_imported_once(stack: ServiceStack, owner: ApiClient, tenant: TenantId) -> None:
    await create_invoices(owner, 3)
    lines = await export_invoices(stack.table(tenant))
    domains = load_domains(DOMAINS)
    other = replace(stack.table(await stack.new_tenant()), activity_log=domains.new_activity_log(IMPORTER))
    first = await Importer.for_table(other, domains.record_kinds).run(BytesIO(lines))
    again = await Importer.for_table(other, domains.record_kinds).run(BytesIO(lines))
    assert (first.written["invoice"], again.existing["invoice"]) == (3, 3)
    assert await export_invoices(other) == lines


async def test_another_tenant_sees_no_invoice_and_its_session_is_denied_the_keys(
    stack: ServiceStack, owner: ApiClient, tenant: TenantId
) -> None:
    (id,) = await create_invoices(owner, 1)
    neighbour = await stack.new_tenant()
    client = stack.api_client(neighbour)
    assert await list_ids(client) == []
    assert (await client.data("query($id: ID!) { node(id: $id) { id } }", id=id))["node"] is None
    key_of_tenant = {"PK": {"S": f"TENANT#{tenant}#INVOICE#{id}"}, "SK": {"S": "METADATA"}}
    with pytest.raises(ClientError) as denied:
        stack.boto_client(neighbour).get_item(TableName=stack.settings.table, Key=key_of_tenant)
    assert denied.value.response["Error"]["Code"] == "AccessDeniedException"
    for partition in (f"TENANT#{tenant}#INVOICES#00", f"TENANT#{tenant}#INVOICES"):
        with pytest.raises(ClientError) as denied:
            stack.boto_client(neighbour).query(
                TableName=stack.settings.table,
                IndexName="GSI2",
                KeyConditionExpression="GSI2PK = :p",
                ExpressionAttributeValues={":p": {"S": partition}},
            )
        assert denied.value.response["Error"]["Code"] == "AccessDeniedException"
    assert "Item" in stack.boto_client(tenant).get_item(TableName=stack.settings.table, Key=key_of_tenant)


async def test_the_service_without_the_domains_of_the_shop_has_none_of_their_fields(owner: ApiClient) -> None:
    viewer = await owner.data("{ viewer { subject } users { edges { node { id } } } }")
    assert viewer == {"viewer": {"subject": "somebody"}, "users": {"edges": []}}
    for field in ("customers", "openOrders", "categories"):
        assert f"Cannot query field '{field}'" in str(
            (await owner.execute(f"{{ {field} {{ __typename }} }}"))["errors"]
        )
        assert await owner.error_code(f"{{ {field} {{ __typename }} }}") == "BAD_USER_INPUT"


async def test_an_entity_of_a_domain_that_was_left_out_is_not_in_the_table(stack: ServiceStack) -> None:
    types = set(stack.tables.entities.tenant_entities_by_type)
    assert "Invoice" in types
    assert types.isdisjoint({"Customer", "Order", "Product"})
