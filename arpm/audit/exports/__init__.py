"""Exports for research: JSON Lines, CSV, inspect_ai and Croissant. Read offline; say what was erased."""
