"""The token: without it nothing but the login page, the style sheet and the health checks is answered.

Keeps the web's half of promise 8. A program sends the token as a bearer; a browser trades it once for a cookie that
scripts cannot read and other sites cannot make it send, and that does not hold the token itself.
"""

from __future__ import annotations

import hashlib
import hmac

from flask import Blueprint, Flask, current_app, redirect, render_template, request
from werkzeug.wrappers import Response

from arpm.web import strings
from arpm.web.errors import RequestError

COOKIE = "arpm"
# What is answered without the token: static files hold nothing private, health checks say only "ok".
_OPEN = frozenset({"static", "login.page", "login.enter", "health.healthz", "health.readyz"})

blueprint = Blueprint("login", __name__)


def init(app: Flask, token: str | None) -> None:
    """Ask every request to `app` for the token; None asks nobody."""
    app.config["TOKEN"] = token
    app.register_blueprint(blueprint)
    app.before_request(_check)


@blueprint.get("/login")
def page() -> Response | str:
    """The form that takes the token."""
    return render_template("login.html", wrong=False) if current_app.config["TOKEN"] else redirect("/", 303)


@blueprint.post("/login")
def enter() -> Response | str | tuple[str, int]:
    """Trade the token for the cookie."""
    token: str | None = current_app.config["TOKEN"]
    if token is None:
        return redirect("/", 303)
    if not _same(request.form.get("token", "").strip(), token):
        return render_template("login.html", wrong=True), 401
    response = redirect("/", 303)
    response.set_cookie(COOKIE, _ticket(token), httponly=True, samesite="Strict", secure=request.is_secure)
    return response


def _check() -> Response | None:
    token: str | None = current_app.config["TOKEN"]
    if token is None or request.endpoint in _OPEN or _knows(token):
        return None
    if request.path == "/" and request.method == "GET":
        return redirect("/login", 303)
    raise RequestError(401, "unauthorised", strings.NO_TOKEN, "Authorization")


def _knows(token: str) -> bool:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and _same(given.strip(), token):
        return True
    return _same(request.cookies.get(COOKIE, ""), _ticket(token))


def _ticket(token: str) -> str:
    return hmac.new(token.encode(), b"arpm browser cookie 1", hashlib.sha256).hexdigest()


def _same(given: str, expected: str) -> bool:
    """Equality in constant time. `surrogatepass`: what was sent may be anything."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())
