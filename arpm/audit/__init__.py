"""Checking a logs folder offline: what the record says, and whether it holds. Needs no server, no lock and no model."""
