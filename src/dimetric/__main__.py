"""Run the command as ``python -m dimetric``."""

import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # ``python -m`` puts the current folder first. Python has already imported the modules that
    # ``dimetric/__init__.py`` needs, possibly from there. The command imports no more from there.
    try:  # noqa: SIM105 - contextlib could come from the current folder
        sys.path[:1] = [each for each in sys.path[:1] if each != os.getcwd()]
    except FileNotFoundError:
        pass  # the current folder was removed, so it contains no modules

from dimetric.cli import main

if __name__ == "__main__":
    main()
