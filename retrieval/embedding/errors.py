"""What can go wrong when an embedder is opened, in words meant for the person."""

from __future__ import annotations


class UnknownEmbedderError(ValueError):
    """The configured embedder is neither a known name nor a folder with a model."""


class ModelFileError(ValueError):
    """A model file is missing, damaged or of another format; the text names the file."""


class MissingPackageError(RuntimeError):
    """A package that carries or runs the model is not installed; the text names the package."""
