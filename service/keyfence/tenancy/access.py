"""Where tenants are registered, and the ways they are reached."""

from keyfence.store.entity import entity
from keyfence.store.keys import ControlKey
from keyfence.tenancy.difference import Difference
from keyfence.tenancy.event import TenantEvent
from keyfence.tenancy.issuers import Identity
from keyfence.tenancy.migration import Migration
from keyfence.tenancy.model import Listed, Tenant
from keyfence.tenancy.offboarding import Job
from keyfence.tenancy.segment import Segment
from keyfence.tenancy.suspension import Suspended

_PLACE = ControlKey("TENANT#{id}", "METADATA")
_BY_STATUS = ControlKey("STATUS#{status}#{created_at:month}", "{created_at}#{id}")
_BY_AGE = ControlKey("TENANTS#{created_at:month}", "{created_at}#{id}")

tenants = entity(Tenant, table=_PLACE, gsi1=_BY_STATUS, gsi2=_BY_AGE)
listed_tenants = entity(Listed, table=_PLACE, gsi1=_BY_STATUS, gsi2=_BY_AGE)
identities = entity(Identity, table=ControlKey("ISSUER#{digest}", "CONSTRAINT"))
events = entity(TenantEvent, table=ControlKey("TENANT#{tenant}", "EVENT#{id}"))
suspensions = entity(Suspended, table=ControlKey("SUSPENSIONS", "METADATA"))
jobs = entity(Job, table=ControlKey("MIGRATION#{id}", "METADATA"))
migrations = entity(Migration, table=ControlKey("MIGRATION#{id}", "METADATA"))
differences = entity(Difference, table=ControlKey("MIGRATION#{migration}", "DIFFERENCES"))
segments = entity(Segment, table=ControlKey("MIGRATION#{migration}", "SEGMENT#{name}#{number:03d}"))

tenant_by_id = tenants.get()
identity_by_digest = identities.get()
suspended_tenants = suspensions.get()
offboarding_by_id = jobs.get()
migration_by_id = migrations.get()
difference_by_migration = differences.get()
segment_by_number = segments.get()
newest_tenants = listed_tenants.query("gsi2", newest_first=True)
tenants_by_status = listed_tenants.query("gsi1", newest_first=True)
events_of_tenant = events.query("table", begins_with="EVENT#", newest_first=True)
