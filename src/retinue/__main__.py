"""`python -m retinue` is the `retinue` command."""

import sys

from retinue.cli import program

if __name__ == "__main__":
    sys.exit(program())
