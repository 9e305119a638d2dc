"""ARPM: auditable memory governance for long conversations with language models."""

__version__ = "0.1.0"
