"""Searching the web: a port, the services that stand behind it, and the tool in front."""
