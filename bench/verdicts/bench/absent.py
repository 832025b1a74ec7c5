"""Families in which no queue stands."""
