"""A foreign peer (python-zeroconf) on the local network.

peer.py browse                       prints a line of JSON for each change that it hears of
peer.py announce NAME PORT ADDRESS   announces a server until it is killed; prints a line once it has
"""

import json
import socket
import sys
import time

from zeroconf import IPVersion, ServiceBrowser, ServiceInfo, Zeroconf

SERVICE = "_unbloat._tcp.local."


def say(**words):
    print(json.dumps(words), flush=True)


class Listener:
    def add_service(self, zeroconf, kind, name):
        info = zeroconf.get_service_info(kind, name)
        if info is None:
            say(change="added", name=name)
            return
        text = {key.decode(): value.decode() for key, value in info.properties.items()}
        addresses = info.parsed_addresses(IPVersion.V4Only)
        say(change="added", name=name, port=info.port, text=text, addresses=addresses)

    def update_service(self, zeroconf, kind, name):
        info = zeroconf.get_service_info(kind, name)
        text = {key.decode(): value.decode() for key, value in info.properties.items()}
        say(change="updated", name=name, text=text)

    def remove_service(self, zeroconf, kind, name):
        say(change="removed", name=name)


zeroconf = Zeroconf(ip_version=IPVersion.V4Only)
if sys.argv[1] == "browse":
    browser = ServiceBrowser(zeroconf, SERVICE, Listener())
    say(change="begun")
else:
    name, port, address = sys.argv[2:]
    addresses = [socket.inet_aton(address)]
    info = ServiceInfo(SERVICE, f"{name}.{SERVICE}", port=int(port), addresses=addresses, properties={"txtvers": "1"}, server="peer.local.")
    zeroconf.register_service(info)
    say(change="announced")
while True:
    time.sleep(1)
