#!/usr/bin/env python3
"""Builds docs/ as a site that needs no network, in build/docs/site.

    build/docs/venv/bin/python tools/docs_site.py build/release/heed

Pages are copied to build/docs/pages with what a site has beyond Markdown: a reference of the C++ headers from their
comments, one of the Python package from its docstrings, saved pages of texts to look at, and a page for each file of the
source that a link names. mkdocs.yml says how they look. A link to nothing ends the build.
"""
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/docs"
PAGES = BUILD / "pages"
FRONT = {ROOT / "README.md": "index.md", ROOT / "docs/index.md": "contents.md"}
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
LANGUAGES = {".h": "cpp", ".cpp": "cpp", ".c": "c", ".py": "python", ".json": "json"}
LIVE = {
    "induction": ("A word returns, and a head looks at what followed it the last time",
                  ["--file", "examples/story.txt"]),
    "pronoun": ("A head finds the person whom “she” means",
                ["The baker Mary saw the smith Tom by the river. Then she kneaded the dough."]),
    "translation": ("A head finds the word that is translated next",
                    ["She plays the piano every day.", "--stack", "cross"]),
}
PYTHON = ("heed", "heed.heads", "heed.torch", "heed.transformers", "heed.hopfield", "heed.errors")
STYLE = """.md-grid { max-width: 75rem; }
.md-typeset table:not([class]) { font-size: .68rem; }
.md-typeset pre > code { font-size: .72rem; }
iframe.live { width: 100%; height: 44rem; border: 1px solid var(--md-default-fg-color--lightest); background: #fff; }
"""
HEADERS = {"Attention": ("attention", "mask", "observe", "tensor", "error", "threads"), "Operators": ("operators",),
           "Models": ("model", "tokenizer", "generate", "train"), "Inspector": ("session", "look"),
           "Several processes": ("ranks",), "C": ("c",), "All": ("heed",)}


class Pages:
    """The pages, and the files of the source that they link to: each becomes a page once."""

    def __init__(self):
        self.made = {}  # file of the checkout: page

    def add(self, file):
        """The page of a file; Markdown stays as it is, anything else is shown as code."""
        if file in self.made:
            return self.made[file]
        relative = file.relative_to(ROOT)
        if file in FRONT:
            page = PAGES / FRONT[file]
        elif file.is_relative_to(ROOT / "docs"):
            page = PAGES / relative.relative_to("docs")
        elif file.is_relative_to(ROOT / "include") and file.suffix == ".h":
            page = PAGES / "reference" / relative.relative_to("include").with_suffix(".md")
        else:
            page = PAGES / "source" / relative
            if file.suffix != ".md":
                page = page.with_name(page.name + ".md") if file.is_file() else page / "index.md"
        self.made[file] = page
        page.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".md":
            page.write_text(self.linked(file.read_text(), file, page))
        elif page.is_relative_to(PAGES / "reference"):
            page.write_text(header_page(file))
        elif file.is_dir():
            names = sorted(each for each in file.iterdir() if each.is_file())
            page.write_text(f"# {relative}\n\n" + "".join(
                f"- [{each.name}]({os.path.relpath(self.add(each), page.parent)})\n" for each in names))
        elif page.suffix == ".md":
            page.write_text(f"# {file.name}\n\n`{relative}`\n\n``` {LANGUAGES.get(file.suffix, 'text')}\n{file.read_text()}```\n")
        else:
            shutil.copyfile(file, page)
        return page

    def linked(self, text, file, page):
        """The text of a page with its links turned to the pages of what they name."""
        def turned(found):
            before, target, after = found.groups()
            if "://" in target or target.startswith("mailto:"):
                return found.group()
            named = (file.parent / target).resolve()
            if not named.exists():
                return found.group() if not re.search(r"[./]", target) else before + target + after
            return before + os.path.relpath(self.add(named), page.parent) + after

        pieces = re.split(r"(```.*?```|`[^`\n]*`)", text, flags=re.S)
        text = "".join(piece if at % 2 else LINK.sub(turned, piece) for at, piece in enumerate(pieces))
        return re.sub(r"^((?!- |  |\d+\. |\|).+\n)(?=- |1\. )", r"\1\n", text, flags=re.M)  # a list needs an empty line


def chunks(lines):
    """Declarations of a header, each with the comment above it."""
    comment, code, depth = [], [], 0
    for line in lines:
        if depth == 0 and not code and line.startswith("//"):
            comment.append(line.lstrip("/").strip())
            continue
        if depth == 0 and not line.strip():
            if code:
                yield comment, code
            elif comment:
                yield comment, []
            comment, code = [], []
            continue
        code.append(line)
        depth += line.count("{") - line.count("}")
    if comment or code:
        yield comment, code


def declared(code):
    """The name that a declaration introduces."""
    text = re.sub(r"\[\[.*?\]\]|//.*", "", " ".join(code))
    for pattern in (r"^(?:template <[^{]*?> )?(?:class|struct|enum class|enum)\s+(\w+)", r"^using (\w+)", r"^#define (\w+)",
                    r"^typedef .*?(\w+);", r"(operator[^\w\s(]+)\s*\(", r"([A-Za-z_]\w*)\s*\(", r"(\w+)\s*(?:=|\{|;)"):
        found = re.search(pattern, text)
        if found:
            return found.group(1)
    return ""


def header_page(file):
    """A header: its comments as text, its declarations as code."""
    relative = file.relative_to(ROOT / "include")
    lines = file.read_text().splitlines()
    intro = [line.lstrip("/").strip() for line in itertools.takewhile(lambda line: line.startswith("//"), lines)]
    body = [line for line in lines[len(intro):] if not re.match(
        r"#(pragma|include|if|endif|ifdef|ifndef|else)|namespace |}  // namespace|extern \"C\"|}  // extern|(?:class|struct) \w+;(?: *//.*)?$", line)]
    page = [f"# {relative}", "", "\n".join(intro), "", f"``` cpp\n#include \"{relative}\"\n```", ""]
    title = None
    for comment, code in chunks(body):
        name = declared(code)
        if name and name != title:  # overloads stand under one title
            page += [f"## {name}", ""]
        title = name or title
        page += ["\n".join(comment), ""]
        if code:
            page += ["``` cpp", *code, "```", ""]
    return "\n".join(page) + "\n"


def reference(pages):
    """The pages of the C++ headers and of the Python package; returns their entries of the navigation."""
    of_headers = []
    for title, names in HEADERS.items():
        headers = [ROOT / f"include/heed/{name}.h" for name in names]
        entries = [{header.name: str(pages.add(header).relative_to(PAGES))} for header in headers]
        of_headers.append({title: entries})
    of_modules = []
    for module in PYTHON:
        page = PAGES / f"reference/python/{module}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"# {module}\n\n::: {module}\n")
        of_modules.append({module: str(page.relative_to(PAGES))})
    return [{"C++ and C headers": of_headers}, {"Python": of_modules}]


def live(heed):
    """Saved pages of texts, inside of one page."""
    folder = PAGES / "live"
    folder.mkdir(parents=True)
    text = ["# Live", "", "The page as `heed look --format html` saves it. It answers from its own file: point at a word, press `?` for its keys.", ""]
    for name, (title, arguments) in LIVE.items():
        subprocess.run([heed, "look", *arguments, "--format", "html", "-o", folder / f"{name}.html"], check=True, cwd=ROOT,
                       stdout=subprocess.DEVNULL)
        text += [f"## {title}", "", f'<iframe class="live" src="{name}.html" title="{title}" loading="lazy"></iframe>', "",
                 f"[In a window of its own]({name}.html)", ""]
    (folder / "index.md").write_text("\n".join(text))


def navigation(pages):
    """The order of docs/index.md, whose sections are bold lines and whose entries are links."""
    entries = [{"heed": "index.md"}, {"Live": "live/index.md"}]
    for line in (ROOT / "docs/index.md").read_text().splitlines():
        section = re.match(r"\*\*(.+)\*\*$", line)
        if section:
            entries.append({section.group(1): []})
        for title, target in re.findall(r"\[([^\]]+)\]\(([^)]+)\)", line) if line.startswith(("- ", "  ")) else []:
            page = pages.made[(ROOT / "docs" / target).resolve()].relative_to(PAGES)
            next(iter(entries[-1].values())).append({title[:1].upper() + title[1:]: str(page)})
    return entries


def without_network():
    """What lets a page search where it is opened as a file, from the site instead of the network."""
    shutil.copyfile(BUILD / "node/node_modules/iframe-worker/shim/index.js", BUILD / "site/assets/iframe-worker.js")
    for page in (BUILD / "site").rglob("*.html"):
        own = os.path.relpath(BUILD / "site/assets/iframe-worker.js", page.parent)
        page.write_text(page.read_text().replace("https://unpkg.com/iframe-worker/shim", own))


def main():
    heed = pathlib.Path(sys.argv[1]).resolve()
    shutil.rmtree(PAGES, ignore_errors=True)
    pages = Pages()
    pages.add(ROOT / "README.md")
    for file in sorted((ROOT / "docs").rglob("*")):
        if file.is_file() and file.suffix in {".md", ".ipynb", ".svg", ".png"}:
            pages.add(file)
    live(heed)
    (PAGES / "site.css").write_text(STYLE)
    nav = [*navigation(pages), {"Reference": reference(pages)}]
    config = {"INHERIT": str(ROOT / "mkdocs.yml"), "docs_dir": str(PAGES), "site_dir": str(BUILD / "site"), "nav": nav}
    (BUILD / "mkdocs.yml").write_text(json.dumps(config, indent=1))  # which is YAML too
    built = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", BUILD / "mkdocs.yml"],
                           capture_output=True, text=True, cwd=BUILD, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    if built.returncode:  # warnings count, and are counted where they are printed
        sys.exit("\n".join(line for line in built.stderr.splitlines() if not line.startswith("INFO")))
    without_network()
    print(f"the documentation is in {os.path.relpath(BUILD / 'site/index.html')}")


if __name__ == "__main__":
    main()
