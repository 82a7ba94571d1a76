"""A request for every field of the API, with the ids of a large tenant as variables."""

import re
from collections.abc import Mapping

from tests.system.field_costs.large_tenant import LargeTenant
from tests.system.field_costs.large_tenant_orders import FLAGGED_ORDERS, REGION, UNFLAGGED_ORDERS

PAGE = "first: 3"
NODES = "edges { cursor node { id version } } pageInfo { hasNextPage endCursor }"

QUERIES: Mapping[str, str] = {
    "node": "node(id: $store) { id }",
    "user": "user(id: $user) { name email role }",
    "userByEmail": 'userByEmail(email: "0@large.example") { name }',
    "users": f"users({PAGE}) {{ {NODES} }}",
    "User.settings": "user(id: $user) { settings { name value } }",
    "User.groups": f"user(id: $user) {{ groups({PAGE}) {{ edges {{ role node {{ name }} }} }} }}",
    "User.groups(first: 30)": "user(id: $user) { groups(first: 30) { edges { role node { name } } } }",
    "User.activity": f"user(id: $user) {{ activity({PAGE}) {{ edges {{ node {{ kind }} }} }} }}",
    "group": "group(id: $group) { name memberCount }",
    "groups": f"groups({PAGE}) {{ {NODES} }}",
    "Group.members": f"group(id: $group) {{ members({PAGE}) {{ edges {{ role node {{ name }} }} }} }}",
    "Group.members(first: 30)": "group(id: $group) { members(first: 30) { edges { role node { name } } } }",
    "customer": "customer(id: $customer) { name }",
    "customer with its orders": f"customer(id: $customer) {{ name orders({PAGE}) {{ {NODES} }} }}",
    "customers": f"customers({PAGE}) {{ {NODES} }}",
    "Customer.orders": f"customers(first: 1) {{ edges {{ node {{ orders({PAGE}) {{ edges {{ cursor }} }} }} }} }}",
    "Customer.orders(status:)": f"customer(id: $customer) {{ orders(status: PENDING, {PAGE}) {{ {NODES} }} }}",
    "order": "order(id: $order) { total status }",
    "order with its items": "order(id: $order) { total items { sku quantity unitPrice } }",
    "Order.customer": "order(id: $order) { customer { name } }",
    "Order.history": "order(id: $order) { history { kind at by } }",
    "Order.history of several": f"openOrders({PAGE}) {{ edges {{ node {{ history {{ kind }} }} }} }}",
    "Order.items of several": f"openOrders({PAGE}) {{ edges {{ node {{ items {{ sku }} }} }} }}",
    "LineItem.product": "order(id: $order) { items { product { name } } }",
    "openOrders": f"openOrders({PAGE}) {{ {NODES} }}",
    "ordersByRegion": f'ordersByRegion(region: "{REGION}", from: "2020-01-01", {PAGE}) {{ {NODES} }}',
    "reviewQueue": f"reviewQueue({PAGE}) {{ {NODES} }}",
    "deletedOrders": f"deletedOrders({PAGE}) {{ {NODES} }}",
    "product": "product(id: $product) { name price }",
    "productBySku": 'productBySku(sku: "SKU-1") { name }',
    "productsInCategory": f'productsInCategory(path: ["shelf"], minPrice: "1", {PAGE}) {{ {NODES} }}',
    "Product.revisions": f"product(id: $product) {{ revisions({PAGE}) {{ edges {{ node {{ revision }} }} }} }}",
    "Product.views": "product(id: $product) { views }",
    "categories": 'categories(under: ["shelf"]) { path }',
    "topProducts": f"topProducts(month: $month, {PAGE}) {{ quantity product {{ name }} }}",
    "storesNear": "storesNear(latitude: 52.5, longitude: 13.4, radiusKm: 5) { distanceKm store { name } }",
    "activity": f"activity({PAGE}) {{ edges {{ cursor node {{ kind }} }} }}",
}

MUTATIONS: Mapping[str, str] = {
    "createUser": 'createUser(input: {email: "new@x.example", name: "New"}) { id }',
    "updateUser": 'updateUser(id: $otherUser, input: {email: "other@x.example"}) { id }',
    "putSetting": 'putSetting(userId: $otherUser, name: "hue", value: 7) { name }',
    "createGroup": 'createGroup(input: {name: "New"}) { id }',
    "updateGroup": 'updateGroup(id: $smallGroup, input: {name: "Newer"}) { id }',
    "addMember": "addMember(groupId: $smallGroup, userId: $otherUser) { role }",
    "changeMember": "changeMember(groupId: $smallGroup, userId: $otherUser, role: MANAGER) { role }",
    "removeMember": "removeMember(groupId: $smallGroup, userId: $otherUser)",
    "deleteGroup": "deleteGroup(id: $smallGroup)",
    "deleteUser": "deleteUser(id: $otherUser)",
    "createCustomer": 'createCustomer(input: {name: "New"}) { id }',
    "updateCustomer": 'updateCustomer(id: $customer, input: {name: "Newer"}) { id }',
    "placeOrder": (
        f'placeOrder(input: {{customerId: $customer, region: "{REGION}",'
        " items: [{productId: $product, quantity: 1}, {productId: $otherProduct, quantity: 2}]},"
        ' idempotencyKey: "k") { id }'
    ),
    "transitionOrder": "transitionOrder(id: $order, to: CONFIRMED) { id }",
    "flagOrder": 'flagOrder(id: $order, reason: "odd") { id }',
    "claimReview": "claimReview { id }",
    "deleteOrder": "deleteOrder(id: $order) { id }",
    "restoreOrder": "restoreOrder(id: $deletedOrder) { id }",
    "createProduct": 'createProduct(input: {sku: "NEW", name: "New", price: "1.50", category: ["shelf"]}) { id }',
    "reviseProduct": 'reviseProduct(id: $otherProduct, input: {price: "2.50"}) { id }',
    "countProductView": "countProductView(id: $product)",
    "createCategory": 'createCategory(path: ["shelf", "new"]) { depth }',
    "moveCategory": 'moveCategory(path: ["box"], to: ["crate"])',
    "createStore": 'createStore(input: {name: "New", latitude: 1.5, longitude: 1.5}) { id }',
    "revokeSession": 'revokeSession(jti: "some-token")',
    "revokeLogin": 'revokeLogin(sid: "some-login")',
    "revokeSubject": 'revokeSubject(sub: "some-subject")',
}
"""Each mutation succeeds if those above it were made before."""


def request_variables(tenant: LargeTenant) -> dict[str, str]:
    """Returns the variables of the requests: ids of the objects with the longest lists, and of objects to change."""
    order = tenant.orders[FLAGGED_ORDERS].order
    deleted_order = tenant.orders[FLAGGED_ORDERS + UNFLAGGED_ORDERS].order
    return {
        "user": tenant.users[0].id,
        "otherUser": tenant.users[-1].id,
        "group": tenant.groups[0].id,
        "smallGroup": tenant.groups[-1].id,
        "customer": tenant.customers[0].id,
        "store": tenant.stores[0].id,
        "order": order.id,
        "deletedOrder": deleted_order.id,
        "product": tenant.products[0].id,
        "otherProduct": tenant.products[1].id,
        "month": f"{order.created_at:%Y-%m}",
    }


def request_document(operation: str, selection: str) -> str:
    """Returns a GraphQL document that declares the variables of the selection."""
    names = sorted(set(_VARIABLE.findall(selection)))
    declarations = ", ".join(f"${name}: {'String!' if name == 'month' else 'ID!'}" for name in names)
    return f"{operation}{f'({declarations})' if declarations else ''} {{ {selection} }}"


_VARIABLE = re.compile(r"\$(\w+)")
