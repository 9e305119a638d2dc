"""Requests that change something must come from ARPM's own page or from a program that is no browser.

Browsers say where a request comes from by themselves (Sec-Fetch-Site, and Origin in older ones), and a page cannot
forge either; so there is no token to lose. A program that sends neither is not under a web page's control.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import Flask, request

from arpm.web import strings
from arpm.web.errors import RequestError

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# "none" is the person's own doing: an address typed, a bookmark opened.
_OWN_SITES = frozenset({"same-origin", "none"})


def init(app: Flask) -> None:
    """Refuse cross-site requests to `app`."""
    app.before_request(_check)


def _check() -> None:
    if request.method in _SAFE_METHODS:
        return
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if site is not None:
        own = site in _OWN_SITES
    else:
        own = origin is None or _is_own(origin)
    if not own:
        raise RequestError(403, "cross_site", strings.CROSS_SITE.format(origin=repr(origin or site)), "Origin")


def _is_own(origin: str) -> bool:
    """Whether an Origin header names the host that was asked. The scheme may differ behind a proxy that ends TLS."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc == request.host
