"""Run the command as ``python -m dimetric``."""

from dimetric.cli import main

if __name__ == "__main__":
    main()
