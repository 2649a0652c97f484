"""Report known vulnerabilities of the versions in a constraints file, with pip-audit.

``make audit`` runs this script. Its exit status is 1 if a version has a known vulnerability. If the
package index cannot be reached, it says so, and its exit status is 0.
"""

import json
import subprocess
import sys

UNREACHABLE = "No audit was made, because the package index could not be reached. Try again later."


def audit(constraints: str) -> dict | None:
    """Return the report of pip-audit, or None if it has none."""
    options = ("--no-deps", "--disable-pip", "--progress-spinner", "off", "--format", "json")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pip_audit", "--requirement", constraints, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        print(done.stderr.strip()[-2000:], file=sys.stderr)
        return None


def summary(report: dict | None) -> tuple[list[str], int]:
    """Return lines about a report, and the exit status."""
    packages = [] if report is None else report["dependencies"]
    audited = [each for each in packages if "skip_reason" not in each]
    if not audited:  # pip-audit skips the packages that it cannot look up
        return [UNREACHABLE], 0
    lines = [
        f"{each['name']} {each['version']}: {found['id']}, fixed in "
        f"{', '.join(found['fix_versions']) or 'no version'}"
        for each in audited
        for found in each["vulns"]
    ]
    n_vulnerable = sum(bool(each["vulns"]) for each in audited)
    skipped = [each["name"] for each in packages if "skip_reason" in each]
    if skipped:
        lines.append(f"Not audited, because the index does not list them: {', '.join(skipped)}.")
    lines.append(f"Packages with known vulnerabilities: {n_vulnerable} of {len(audited)}.")
    return lines, int(n_vulnerable > 0)


if __name__ == "__main__":
    lines, status = summary(audit(sys.argv[1]))
    print(*lines, sep="\n")
    sys.exit(status)
