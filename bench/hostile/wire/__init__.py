"""Protocols by hand, so that they can be broken."""
