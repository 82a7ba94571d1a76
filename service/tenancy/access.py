"""Where tenants are registered."""

from service.store.entity import entity
from service.store.keys import ControlKey
from service.tenancy.model import Tenant

tenants = entity(
    Tenant,
    table=ControlKey("TENANT#{id}", "METADATA"),
    gsi2=ControlKey("TENANTS#{created_at:month}", "{created_at}#{id}"),
)

tenant_by_id = tenants.get()
