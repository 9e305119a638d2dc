"""The Host check: a request must name this server, or it is refused with 400.

Guards against DNS rebinding: a page of a hostile site whose name suddenly points at 127.0.0.1 sends its own name as
Host. An address of numbers cannot be rebound, so a server that is bound beyond loopback takes any of those.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from urllib.parse import urlsplit

from flask import Flask, request

from arpm.settings import is_loopback
from arpm.web import strings
from arpm.web.errors import RequestError


def init(app: Flask, bound: str) -> None:
    """Refuse requests whose Host is not a name of a server bound to `bound`."""
    accepts = accepted_hosts(bound)

    def check() -> None:
        given = request.environ.get("HTTP_HOST", "")
        if not accepts(_name(given)):
            raise RequestError(400, "host", strings.WRONG_HOST.format(host=given), "Host")

    app.before_request(check)


def accepted_hosts(bound: str) -> Callable[[str | None], bool]:
    """Which names, without their port, a server bound to `bound` goes by."""
    if is_loopback(bound):
        return lambda name: name is not None and is_loopback(name)
    own = {bound.lower(), socket.gethostname().lower()}
    return lambda name: name is not None and (name in own or is_loopback(name) or _is_address(name))


def _name(host: str) -> str | None:
    """The name in a Host header, lower case and without brackets and port; None when it is no host."""
    try:
        parts = urlsplit(f"//{host}")
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError:
        return None
    bare = parts.netloc == host and "@" not in host and port_is_valid
    return parts.hostname if bare else None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
