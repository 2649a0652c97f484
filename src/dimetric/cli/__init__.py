"""The command line (the ``cli`` extra)."""

try:
    from dimetric.cli.main import main
except KeyboardInterrupt:  # Ctrl-C during the imports should not print a traceback either
    from dimetric.cli._interrupts import interrupt_exit

    raise interrupt_exit() from None

__all__ = ["main"]
