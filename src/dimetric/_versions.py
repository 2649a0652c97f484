"""Versions of Python and of installed packages."""

import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version


def installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the version of Python and of each package that is installed.

    Parameters
    ----------
    packages : iterable of str
        Names of distributions, as given to pip. Packages that are not installed are left out.

    Examples
    --------
    >>> list(installed_versions(["numpy", "no such package"]))
    ['Python', 'numpy']
    """
    versions = {"Python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
