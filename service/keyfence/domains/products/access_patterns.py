"""Keys and access patterns of products, SKU claims and revisions."""

from keyfence.domains.products.model import CategoryRef, Product, ProductRevision, SkuClaim
from keyfence.store.entity import entity
from keyfence.store.keys import TenantKey
from keyfence.store.shards import Sharding

products = entity(
    Product,
    table=TenantKey("PRODUCT#{id}", "v0000"),
    gsi3=TenantKey(
        "CATEGORY#{category:path}",
        "PRICE#{price:010.2f}#{id}",
        sharding=Sharding("products_in_category", hashed_field="id"),
    ),
)
sku_claims = entity(SkuClaim, table=TenantKey("SKU#{sku}", "PRODUCT"))
product_revisions = entity(ProductRevision, table=TenantKey("PRODUCT#{product_id}", "v{revision:04d}"))
category_refs = entity(CategoryRef, table=TenantKey("CATEGORIES", "PATH#{path:path}"))

product_by_id = products.get()
product_by_sku = sku_claims.get()
products_in_category = products.query("gsi3", begins_with="PRICE#", range_field="price")
revisions_of_product = product_revisions.query("table", newest_first=True, range_field="revision")
category_ref_by_path = category_refs.get()
