"""The machine and the versions of a run."""

import importlib.util
import json
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

from _bar.environments import PINS, Environments
from _bar.process import SideFailed

PACKAGES = ("dimetric", "numpy", "scipy", "scikit-learn", "numba", "torch")
PEER_PACKAGES = ("pyDML", "metric-learn", "numpy", "scipy", "scikit-learn")
VERSIONS = """
import json, sys
from importlib import metadata
found = {"Python": ".".join(map(str, sys.version_info[:3]))}
for name in sys.argv[1:]:
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


def processor() -> str:
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def gpu() -> str:
    """Return the name of the GPU, or "" if torch finds none."""
    if importlib.util.find_spec("torch") is None:
        return ""
    import torch

    return str(torch.cuda.get_device_name()) if torch.cuda.is_available() else ""


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def versions() -> dict[str, str]:
    """Return the versions in this Python."""
    found = {"Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def peer_versions(
    environments: Environments, libraries: set[str]
) -> dict[str, dict[str, str] | str]:
    """Return the versions in the environments of peers, or why there are none."""
    found: dict[str, dict[str, str] | str] = {}
    for library in sorted(libraries & PINS.keys()):
        try:
            command = environments.python(library)
            done = subprocess.run(
                [*command, "-c", VERSIONS, *PEER_PACKAGES],
                capture_output=True,
                text=True,
                check=True,
            )
            found[library] = json.loads(done.stdout)
        except SideFailed as error:
            found[library] = str(error)
        except (OSError, subprocess.CalledProcessError) as error:
            found[library] = f"not installed: {error}"
    return found


def description(environments: Environments, libraries: set[str]) -> dict[str, Any]:
    """Return the machine and all versions. The environments of the libraries are built."""
    return {
        "processor": processor(),
        "gpu": gpu(),
        "cores": cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": versions(),
        "peers": peer_versions(environments, libraries),
    }
