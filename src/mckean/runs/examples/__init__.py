"""Packaged configurations, found by name: `mckean run digits`."""
