"""The summary of an audit of the dependencies."""

from audit import UNREACHABLE, summary

FOUND = {"id": "CVE-1", "fix_versions": ["2.1"], "aliases": []}


def test_summary_of_an_audit():
    skipped = {"name": "b", "skip_reason": "not found"}
    clean = {"name": "a", "version": "2.0", "vulns": []}
    assert summary(None) == ([UNREACHABLE], 0)
    assert summary({"dependencies": [skipped]}) == ([UNREACHABLE], 0)
    assert summary({"dependencies": [clean]}) == (
        ["Packages with known vulnerabilities: 0 of 1."],
        0,
    )
    lines, status = summary({"dependencies": [clean | {"vulns": [FOUND]}, clean, skipped]})
    assert lines == [
        "a 2.0: CVE-1, fixed in 2.1",
        "Not audited, because the index does not list them: b.",
        "Packages with known vulnerabilities: 1 of 2.",
    ]
    assert status == 1
