"""GraphQL documents of the model, and responses without edges."""

from typing import Any

ORDER = """id status currency total flagged version customer { id }
  items { sku quantity unitPrice } history { kind from to note }"""
PRODUCT = """id sku name price currency category revision version views
  revisions(first: 50) { edges { node { revision name price } } }"""
LISTS = f"""query($month: String!) {{
  customers(first: 25) {{ edges {{ node {{
    id orders(first: 30) {{ edges {{ node {{ id }} }} }}
    pending: orders(status: PENDING, first: 30) {{ edges {{ node {{ id }} }} }}
  }} }} }}
  north: ordersByRegion(region: "north", first: 25) {{ edges {{ node {{ {ORDER} }} }} }}
  south: ordersByRegion(region: "south", first: 25) {{ edges {{ node {{ {ORDER} }} }} }}
  deletedOrders(first: 25) {{ edges {{ node {{ {ORDER} }} }} }}
  openOrders(first: 30) {{ edges {{ node {{ id }} }} }}
  reviewQueue(first: 30) {{ edges {{ node {{ id }} }} }}
  topProducts(month: $month, first: 30) {{ quantity product {{ id }} }}
  categories {{ path }}
  activity(first: 100) {{ edges {{ node {{ kind target }} }} }}
}}"""
IN_CATEGORY = (
    f"query($path: [String!]!) {{ found: productsInCategory(path: $path) {{ edges {{ node {{ {PRODUCT} }} }} }} }}"
)
BY_SKU = f"query($sku: String!) {{ found: productBySku(sku: $sku) {{ {PRODUCT} }} }}"
BY_ID = f"query($id: ID!) {{ found: order(id: $id) {{ {ORDER} }} }}"

NEW_CUSTOMER = 'mutation { done: createCustomer(input: {name: "Ann"}) { id } }'
NEW_CATEGORY = "mutation($path: [String!]!) { done: createCategory(path: $path) { path } }"
MOVE = "mutation($path: [String!]!, $to: [String!]!) { done: moveCategory(path: $path, to: $to) }"
NEW_PRODUCT = f"mutation($input: CreateProductInput!) {{ done: createProduct(input: $input) {{ {PRODUCT} }} }}"
REVISE = (
    f"mutation($id: ID!, $input: ReviseProductInput!) {{ done: reviseProduct(id: $id, input: $input) {{ {PRODUCT} }} }}"
)
VIEW = "mutation($id: ID!) { done: countProductView(id: $id) }"
PLACE = f"""mutation($input: PlaceOrderInput!, $key: String) {{
  done: placeOrder(input: $input, idempotencyKey: $key) {{ createdAt {ORDER} }} }}"""
STEP = f"""mutation($id: ID!, $to: OrderStatus!, $version: Int, $note: String) {{
  done: transitionOrder(id: $id, to: $to, expectedVersion: $version, note: $note) {{ {ORDER} }} }}"""
FLAG = f"mutation($id: ID!, $reason: String!) {{ done: flagOrder(id: $id, reason: $reason) {{ {ORDER} }} }}"
CLAIM = f"mutation {{ done: claimReview {{ {ORDER} }} }}"
DELETE = f"mutation($id: ID!) {{ done: deleteOrder(id: $id) {{ {ORDER} }} }}"
RESTORE = f"mutation($id: ID!) {{ done: restoreOrder(id: $id) {{ {ORDER} }} }}"


def bare(value: Any) -> Any:
    """Returns the response with a plain list in place of every connection."""
    if isinstance(value, list):
        return [bare(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "edges" in value:
        return [bare(edge["node"]) for edge in value["edges"]]
    return {name: bare(one) for name, one in value.items()}
