"""Keys and access patterns of tenants, of their own issuers, and of their events."""

from keyfence.store.entity import entity
from keyfence.store.keys import ControlKey
from keyfence.tenancy.issuer_registration import TenantIssuer
from keyfence.tenancy.tenant import Tenant, TenantSummary
from keyfence.tenancy.tenant_events import TenantEvent

_TABLE = ControlKey("TENANT#{id}", "METADATA")
_BY_STATUS = ControlKey("STATUS#{status}#{created_at:month}", "{created_at}#{id}")
_BY_TIME = ControlKey("TENANTS#{created_at:month}", "{created_at}#{id}")

tenants = entity(Tenant, table=_TABLE, gsi1=_BY_STATUS, gsi2=_BY_TIME)
tenant_summaries = entity(TenantSummary, table=_TABLE, gsi1=_BY_STATUS, gsi2=_BY_TIME)
issuers = entity(TenantIssuer, table=ControlKey("ISSUER#{digest}", "CONSTRAINT"))
events = entity(TenantEvent, table=ControlKey("TENANT#{tenant}", "EVENT#{id}"))

tenant_by_id = tenants.get()
issuer_by_digest = issuers.get()
newest_tenants = tenant_summaries.query("gsi2", newest_first=True)
tenants_by_status = tenant_summaries.query("gsi1", newest_first=True)
events_of_tenant = events.query("table", begins_with="EVENT#", newest_first=True)
