"""What Retinue costs, measured: `make bench`, or `python -m bench NAME…` for a part of it."""
