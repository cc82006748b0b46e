"""A whole page that needs nothing else: its style stands in it, it has no script, and its policy forbids any load."""

from typing import Final

from retinue.orchestration.present.html.markup import element, text

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def document(title: str, *parts: str, style: str, created_at: str = "") -> str:
    """The text of one HTML document, with a footer that says where it comes from.

    Args:
        title: What a browser calls it, as plain text.
        parts: Its body, as markup; empty ones are left out.
        style: Its style sheet.
        created_at: When it was made, as a person reads it.
    """
    footer = f"Made by Retinue{f', {created_at}' if created_at else ''}. This page loads nothing."
    lines = (
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{text(_POLICY)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        element("title", text(title)),
        f"<style>{style}</style>",
        "</head>",
        "<body>",
        *filter(None, parts),
        element("footer", text(footer)),
        "</body>",
        "</html>",
    )
    return "\n".join(lines) + "\n"
