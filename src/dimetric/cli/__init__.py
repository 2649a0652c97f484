"""The command line (the ``cli`` extra)."""

from dimetric.cli.main import main

__all__ = ["main"]
