"""Where traffic and advice are kept and the ways they are reached."""

from keyfence.store.entity import entity
from keyfence.store.keys import ControlKey
from keyfence.traffic.model import Advised, ServerTraffic

server_traffic = entity(ServerTraffic, table=ControlKey("TRAFFIC", "SERVER#{server}"))
advice = entity(Advised, table=ControlKey("ADVICE#{tenant}", "COLLECTION#{collection}"))

traffic_of_servers = server_traffic.query("table", begins_with="SERVER#")
traffic_of_server = server_traffic.get()
advice_for_collection = advice.get()
