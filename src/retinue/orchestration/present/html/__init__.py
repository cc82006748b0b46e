"""An answer as one page of HTML that needs nothing else: no script, no network, no second file."""

from .page import as_html

__all__ = ["as_html"]
