"""The `markdown_json` dialect."""
