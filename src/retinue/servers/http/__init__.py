"""The door of spec 004: a card, generic tasks and a route a skill, and beside them the runs themselves."""

from .routes import http_app

__all__ = ["http_app"]
