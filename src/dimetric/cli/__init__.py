"""The command line (the ``cli`` extra)."""

try:
    from dimetric.cli.main import main
except KeyboardInterrupt:  # Ctrl-C during the imports should not print a traceback either
    import sys

    from dimetric.cli._interrupts import print_interrupt

    sys.exit(print_interrupt())

__all__ = ["main"]
