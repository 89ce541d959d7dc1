#!/usr/bin/env python3
"""Reports on runs of ctest: test_report.py REPORT.xml ... (ctest --output-junit), one per run.

Prints how many tests the last run skipped, each reason once with its count, and, for several runs,
every test that failed in any of them.
"""

import collections
import re
import sys
import xml.etree.ElementTree as ElementTree

# GoogleTest prints "file.cpp:12: Skipped" and the reason on the next line; heed's own scripts print
# "skipped: reason".
REASON = re.compile(r"^(?:\S+: Skipped\n+(.+)|skipped: (.+))$", re.MULTILINE)


def reason(case):
    output = case.findtext("system-out") or ""
    found = REASON.search(output)
    if found:
        return found[1] or found[2]
    message = case.find("skipped").get("message") if case.find("skipped") is not None else None
    return message or "no reason given"


def read(path):
    """The test cases of a report; characters that XML does not allow are dropped."""
    with open(path, encoding="utf-8", errors="replace") as file:
        text = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "", file.read())
    return ElementTree.fromstring(text.encode()).findall("testcase")


def main(paths):
    failures = collections.Counter()
    skipped = []
    for path in paths:
        cases = read(path)
        failures.update(case.get("name") for case in cases if case.get("status") == "fail")
        skipped = [case for case in cases if case.get("status") == "notrun"]
    print(f"{len(skipped)} tests skipped")
    for text, count in sorted(collections.Counter(map(reason, skipped)).items()):
        print(f"  {count:4d}  {text}")
    if len(paths) > 1:
        print(f"{len(failures)} tests failed in at least one of {len(paths)} runs")
        for name, count in sorted(failures.items()):
            print(f"  {count:4d}  {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
