"""Where tenants are registered."""

from service.store.entity import entity
from service.store.keys import ControlKey
from service.tenancy.model import Tenant

tenants = entity(Tenant, table=ControlKey("TENANT#{id}", "METADATA"))

tenant_by_id = tenants.get()
