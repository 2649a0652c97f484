"""Run the command as ``python -m dimetric``."""

import os
import sys

# The command imports no modules from the current folder, which ``python -m`` puts first.
if not sys.flags.safe_path and sys.path[:1] == [os.getcwd()]:
    del sys.path[0]

from dimetric.cli import main

if __name__ == "__main__":
    main()
