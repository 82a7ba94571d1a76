"""Where tenants are registered, and the ways they are reached."""

from keyfence.store.entity import entity
from keyfence.store.keys import ControlKey
from keyfence.tenancy.issuers import TenantIssuer
from keyfence.tenancy.tenant import Tenant, TenantEvent, TenantSummary

_PLACE = ControlKey("TENANT#{id}", "METADATA")
_BY_STATUS = ControlKey("STATUS#{status}#{created_at:month}", "{created_at}#{id}")
_BY_AGE = ControlKey("TENANTS#{created_at:month}", "{created_at}#{id}")

tenants = entity(Tenant, table=_PLACE, gsi1=_BY_STATUS, gsi2=_BY_AGE)
listed_tenants = entity(TenantSummary, table=_PLACE, gsi1=_BY_STATUS, gsi2=_BY_AGE)
identities = entity(TenantIssuer, table=ControlKey("ISSUER#{digest}", "CONSTRAINT"))
events = entity(TenantEvent, table=ControlKey("TENANT#{tenant}", "EVENT#{id}"))

tenant_by_id = tenants.get()
identity_by_digest = identities.get()
newest_tenants = listed_tenants.query("gsi2", newest_first=True)
tenants_by_status = listed_tenants.query("gsi1", newest_first=True)
events_of_tenant = events.query("table", begins_with="EVENT#", newest_first=True)
