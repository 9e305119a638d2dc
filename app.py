"""The web application of one service, for any WSGI server; `arpm serve` runs it by itself."""

from arpm.web.application import create_app

__all__ = ["create_app"]
