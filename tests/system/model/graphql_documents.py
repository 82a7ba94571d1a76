"""GraphQL documents that the model sends, and `without_edges` for their responses."""

from typing import Any

ORDER_FIELDS = """id status currency total flagged version customer { id }
  items { sku quantity unitPrice } history { kind from to note }"""
PRODUCT_FIELDS = """id sku name price currency category revision version views
  revisions(first: 50) { edges { node { revision name price } } }"""
ALL_LISTS = f"""query($month: String!) {{
  customers(first: 25) {{ edges {{ node {{
    id orders(first: 30) {{ edges {{ node {{ id }} }} }}
    pending: orders(status: PENDING, first: 30) {{ edges {{ node {{ id }} }} }}
  }} }} }}
  north: ordersByRegion(region: "north", first: 25) {{ edges {{ node {{ {ORDER_FIELDS} }} }} }}
  south: ordersByRegion(region: "south", first: 25) {{ edges {{ node {{ {ORDER_FIELDS} }} }} }}
  deletedOrders(first: 25) {{ edges {{ node {{ {ORDER_FIELDS} }} }} }}
  openOrders(first: 30) {{ edges {{ node {{ id }} }} }}
  reviewQueue(first: 30) {{ edges {{ node {{ id }} }} }}
  topProducts(month: $month, first: 30) {{ quantity product {{ id }} }}
  categories {{ path }}
  activity(first: 100) {{ edges {{ node {{ kind target }} }} }}
}}"""
PRODUCTS_IN_CATEGORY = f"""query($path: [String!]!) {{
  found: productsInCategory(path: $path) {{ edges {{ node {{ {PRODUCT_FIELDS} }} }} }} }}"""
PRODUCT_BY_SKU = f"query($sku: String!) {{ found: productBySku(sku: $sku) {{ {PRODUCT_FIELDS} }} }}"
ORDER_BY_ID = f"query($id: ID!) {{ found: order(id: $id) {{ {ORDER_FIELDS} }} }}"

NEW_CUSTOMER = 'mutation { result: createCustomer(input: {name: "Ann"}) { id } }'
NEW_CATEGORY = "mutation($path: [String!]!) { result: createCategory(path: $path) { path } }"
MOVE_CATEGORY = "mutation($path: [String!]!, $to: [String!]!) { result: moveCategory(path: $path, to: $to) }"
NEW_PRODUCT = f"mutation($input: CreateProductInput!) {{ result: createProduct(input: $input) {{ {PRODUCT_FIELDS} }} }}"
REVISE_PRODUCT = f"""mutation($id: ID!, $input: ReviseProductInput!) {{
  result: reviseProduct(id: $id, input: $input) {{ {PRODUCT_FIELDS} }} }}"""
COUNT_VIEW = "mutation($id: ID!) { result: countProductView(id: $id) }"
PLACE_ORDER = f"""mutation($input: PlaceOrderInput!, $key: String) {{
  result: placeOrder(input: $input, idempotencyKey: $key) {{ createdAt {ORDER_FIELDS} }} }}"""
TRANSITION_ORDER = f"""mutation($id: ID!, $to: OrderStatus!, $version: Int, $note: String) {{
  result: transitionOrder(id: $id, to: $to, expectedVersion: $version, note: $note) {{ {ORDER_FIELDS} }} }}"""
FLAG_ORDER = (
    f"mutation($id: ID!, $reason: String!) {{ result: flagOrder(id: $id, reason: $reason) {{ {ORDER_FIELDS} }} }}"
)
CLAIM_ORDER = f"mutation {{ result: claimReview {{ {ORDER_FIELDS} }} }}"
DELETE_ORDER = f"mutation($id: ID!) {{ result: deleteOrder(id: $id) {{ {ORDER_FIELDS} }} }}"
RESTORE_ORDER = f"mutation($id: ID!) {{ result: restoreOrder(id: $id) {{ {ORDER_FIELDS} }} }}"


def without_edges(value: Any) -> Any:
    """Returns the response with a plain list in place of every connection."""
    if isinstance(value, list):
        return [without_edges(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "edges" in value:
        return [without_edges(edge["node"]) for edge in value["edges"]]
    return {name: without_edges(field) for name, field in value.items()}
