"""The script that a worker process runs first: it sets the module search path of the process."""

import json
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


class UserModules:
    """A finder that searches for some modules in the folders where the parent found them.

    Parameters
    ----------
    folders : dict of str to str
        Folders by name of the module.
    """

    def __init__(self, folders: dict[str, str]) -> None:
        self._folders = folders

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to load a module, or None if other finders must find it."""
        folder = self._folders.get(name)
        return None if folder is None else PathFinder.find_spec(name, [folder], target)


if __name__ == "__main__":
    sys.path[:], folders = json.loads(sys.argv[1])
    sys.meta_path.insert(0, UserModules(folders))
    from dimetric.benchmark._workers import main

    main()
