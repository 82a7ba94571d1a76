"""The keys and access patterns of jobs."""

from keyfence.jobs.job_record import Job, JobSummary
from keyfence.store.entity import entity
from keyfence.store.keys import ControlKey

_TABLE = ControlKey("JOB#{id}", "METADATA")
_BY_TENANT = ControlKey("JOBS#{tenant}#{created_at:month}", "{created_at}#{id}")
_BY_TIME = ControlKey("JOBS#{created_at:month}", "{created_at}#{id}")

jobs = entity(Job, table=_TABLE, gsi1=_BY_TENANT, gsi2=_BY_TIME)
job_summaries = entity(JobSummary, table=_TABLE, gsi1=_BY_TENANT, gsi2=_BY_TIME)

job_by_id = jobs.get()
newest_jobs = job_summaries.query("gsi2", newest_first=True)
newest_jobs_of_tenant = job_summaries.query("gsi1", newest_first=True)
