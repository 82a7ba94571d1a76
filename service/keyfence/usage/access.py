"""Where usage is kept and the way it is reached."""

from keyfence.store.entity import entity
from keyfence.store.keys import ControlKey
from keyfence.usage.model import UsageHour

usage_hours = entity(UsageHour, table=ControlKey("USAGE#{tenant}#{hour:month}", "{hour}#{part}"))

usage_of_month = usage_hours.query("table", ranged="hour")
