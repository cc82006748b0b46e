"""Found, loaded and called, whatever they are made of; the boundary."""
