#!/usr/bin/env python3
"""The pages of docs/pages as plain Markdown: a release has them in share/doc/muster/docs/pages, to be read without the site.

    plain.py FOLDER

Pages that are made from the code are there as well (reference.py: $MUSTER is the program), files of the repository are in the
text, and nothing needs an extension of Markdown.
"""

import os
import re
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import reference  # noqa: E402

PAGES = "docs/pages"
INCLUDE = re.compile(r'^( *)--8<-- "([^":]+)(?::([\w-]+))?"$', re.M)
TITLE = re.compile(r'^( *)(?:===|!!!|\?\?\?\+?) (?:[a-z]+ )?"([^"]+)"$')


def included(page, indent, path, section):
    """A picture is a link to it: it lies in the folder of pages."""
    if path.endswith(".svg"):
        return f"{indent}![{os.path.basename(path)}]({os.path.relpath(path, os.path.dirname(f'{PAGES}/{page}'))})"
    text = reference.read(path).rstrip("\n")
    if section:
        text = re.search(rf"^.*\[start:{section}\].*\n((?:.*\n)*?)^.*\[end:{section}\]", text, re.M)[1].strip("\n")
    return "\n".join(f"{indent}{line}".rstrip() for line in text.split("\n"))


def without_boxes(text):
    """Tabs and boxes as bold lines, their content without its indent."""
    found, depths = [], []
    for line in text.split("\n"):
        title = TITLE.match(line)
        indent = len(line) - len(line.lstrip(" "))
        while depths and line.strip() and indent <= depths[-1]:
            depths.pop()
        shift = 4 * len(depths)
        found.append(f"{title[1][shift:]}**{title[2]}**" if title else line[shift:] if line.strip() else "")
        if title:
            depths.append(indent)
    return "\n".join(found)


def plain(page, text):
    """`page`: its path below docs/pages."""
    text = re.sub(r"\A---\n.*?\n---\n+", "", text, flags=re.S)
    text = INCLUDE.sub(lambda match: included(page, match[1], match[2], match[3]), text)
    return without_boxes(text)


def pages():
    """(path below docs/pages, text) of each."""
    for folder, _, names in os.walk(os.path.join(reference.ROOT, PAGES)):
        for name in names:
            if name.endswith(".md"):
                page = os.path.relpath(os.path.join(folder, name), os.path.join(reference.ROOT, PAGES))
                yield page, plain(page, reference.read(f"{PAGES}/{page}"))
    for name, text in reference.pages().items():
        yield f"reference/{name}", text


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        raise SystemExit(__doc__)
    target = sys.argv[1]
    for kept in ("assets", "reference/schemas"):
        keep = shutil.ignore_patterns("*.js", "*.css")
        shutil.copytree(os.path.join(reference.ROOT, PAGES, kept), os.path.join(target, kept), ignore=keep)
    for page, text in pages():
        os.makedirs(os.path.dirname(os.path.join(target, page)), exist_ok=True)
        with open(os.path.join(target, page), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
