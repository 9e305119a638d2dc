"""Errors that are meant for the person: what went wrong, where, and what to do."""

from __future__ import annotations


class ArpmError(Exception):
    """Base of every error whose text is shown to the person as it is."""


class InputError(ArpmError):
    """Something the person gave cannot be used; the text names the place and the remedy."""


class NotFoundError(ArpmError):
    """The named timeline, turn, document, model or memory does not exist."""


class BusyError(ArpmError):
    """Another process or another turn holds what is needed; nothing was changed."""
