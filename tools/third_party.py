#!/usr/bin/env python3
"""Writes THIRD_PARTY.md: what is bundled or linked, with the notices that the licences ask for.

tools/third_party.py           writes the file
tools/third_party.py --check   exit status 1 where the file is not what it would write; 77 where the
                               sources of the notices are not installed

The page's packages are those that web/package-lock.json installs outside of development; their
notices lie in web/node_modules. The libraries' notices are Debian's (/usr/share/doc/*/copyright).
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "THIRD_PARTY.md"
SKIPPED = 77

# Name, Debian package, licence (SPDX), where it is used, licence's name in Debian's file.
LIBRARIES = [
    ("{fmt}", "libfmt-dev", "MIT", "library and program", "Expat with embedded exception"),
    ("Highway", "libhwy-dev", "Apache-2.0", "library", None),
    ("utf8proc", "libutf8proc-dev", "MIT", "library", "Expat"),
    ("Unicode's data (inside utf8proc)", "libutf8proc-dev", "Unicode-DFS-2016", "library", "Unicode"),
    ("PCRE2", "libpcre2-dev", "BSD-3-Clause", "library", "BSD-3-clause-Cambridge with BINARY LIBRARY-LIKE PACKAGES exception"),
    ("JSON for Modern C++", "nlohmann-json3-dev", "MIT", "library and program", "Expat"),
    ("CLI11", "libcli11-dev", "BSD-3-Clause", "program", "BSD-3-clause"),
    ("cpp-httplib", "libcpp-httplib-dev", "MIT", "program", "Expat"),
    ("zlib", "zlib1g-dev", "Zlib", "program", "Zlib"),
]
APACHE = "The text of the Apache License 2.0 stands in [LICENSE](LICENSE)."


class Missing(Exception):
    """A file that holds a notice is not installed."""


def read(path):
    if not path.is_file():
        raise Missing(path)
    return path.read_text(encoding="utf-8")


def unfolded(text):
    """A field of a Debian file: lines begin with a space, a dot alone is an empty line."""
    lines = [line.strip() for line in text.strip("\n").split("\n")]
    return "\n".join("" if line == "." else line for line in lines).strip()


def stanzas(package):
    """Debian's machine-readable copyright file: [{field: text}]."""
    text = read(pathlib.Path("/usr/share/doc") / package / "copyright")
    found = []
    for block in re.split(r"\n\s*\n", text):
        fields = re.findall(r"^([A-Z][\w-]*):((?:.*\n?)(?:[ \t].*\n?)*)", block + "\n", re.M)
        found.append({name: value for name, value in fields})
    return found


def licence_name(stanza):
    return stanza.get("License", "").strip("\n").split("\n")[0].strip()


def debian_notice(package, licence):
    """Holders and text of a licence. Without a licence's name: of the package as a whole."""
    all_stanzas = stanzas(package)
    if licence is None:
        own = next(s for s in all_stanzas if s.get("Files", "").strip() == "*")
        return unfolded(own["Copyright"]), None
    own = [s for s in all_stanzas if "Files" in s and licence_name(s) == licence
           and not s["Files"].strip().startswith("debian/")]
    bodies = [s["License"].strip("\n").split("\n", 1)[1] for s in all_stanzas
              if licence_name(s) == licence and "\n" in s["License"].strip("\n")]
    if not own or not bodies:
        sys.exit(f"third_party: {package} has no notice of {licence}")
    holders = dict.fromkeys(unfolded(s["Copyright"]) for s in own)
    return "\n".join(holders), unfolded(bodies[0])


def page_packages():
    """[(name, version, licence, notice)] of what can be in the bundle."""
    lock = json.loads(read(ROOT / "web/package-lock.json"))
    found = []
    for path, entry in sorted(lock["packages"].items()):
        if not path or entry.get("dev"):
            continue
        notice = read(ROOT / "web" / path / "LICENSE").strip()
        found.append((path.removeprefix("node_modules/"), entry["version"], entry["license"], notice))
    return found


def document():
    packages = page_packages()
    lines = [
        "# Third-party software",
        "",
        "What heed links or bundles, under which licence, and the notices that these licences ask for.",
        "`tools/third_party.py` writes this file; `heed --licences` prints it. heed itself is under the",
        "[Apache License 2.0](LICENSE).",
        "",
        "| what | licence | where |",
        "|---|---|---|",
    ]
    lines += [f"| {name} | {spdx} | {where} |" for name, _, spdx, where, _ in LIBRARIES]
    lines += [f"| {name} {version} | {licence} | page |" for name, version, licence, _ in packages]
    lines += ["", "The C++ runtime (libstdc++, libgcc) is used under the GCC Runtime Library Exception.", ""]
    for name, package, spdx, _, licence in LIBRARIES:
        holders, body = debian_notice(package, licence)
        lines += [f"## {name} ({spdx})", "", "```", f"Copyright {holders}".replace("Copyright Copyright", "Copyright"), "```"]
        lines += ["", APACHE, ""] if body is None else ["```", body, "```", ""]
    notices = {}
    for name, version, licence, notice in packages:
        notices.setdefault((licence, notice), []).append(f"{name} {version}")
    for (licence, notice), names in notices.items():
        lines += [f"## {', '.join(names)} ({licence})", "", "```", notice, "```", ""]
    return "\n".join(lines)


def main(arguments):
    try:
        text = document()
    except Missing as missing:
        print(f"skipped: {missing} is not installed")
        return SKIPPED
    if arguments == ["--check"]:
        if OUT.is_file() and OUT.read_text(encoding="utf-8") == text:
            return 0
        print("THIRD_PARTY.md is out of date: run tools/third_party.py")
        return 1
    OUT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
