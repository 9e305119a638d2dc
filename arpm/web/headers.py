"""Headers of every response: a policy under which no injected script, style or frame does anything.

Keeps the browser's half of promise 8: the page loads nothing from, and sends nothing to, any other place.
"""

from __future__ import annotations

from flask import Flask, Response

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "object-src 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types dompurify",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # Another site may neither embed what this one serves nor keep a handle on its window.
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def init(app: Flask) -> None:
    """Put the headers on every response of `app`."""
    app.after_request(_with_headers)


def _with_headers(response: Response) -> Response:
    response.headers.update(HEADERS)
    # Conversations stay out of the browser's disk cache; static files say themselves how they are cached.
    response.headers.setdefault("Cache-Control", "no-store")
    return response
