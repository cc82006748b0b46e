"""Retinue makes agent contracts executable."""

__version__ = "0.1.0"
