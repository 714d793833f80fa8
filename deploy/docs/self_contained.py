"""Does a built site load everything from itself? Links that a reader follows may lead elsewhere.

    self_contained.py FOLDER

Prints each resource of another host; the exit code is then 1.
"""

import html.parser
import pathlib
import re
import sys

# Attributes whose address the browser loads when it shows the page. `a href` is not one of them.
LOADED = {"src", "srcset", "poster", "data"}
ELSEWHERE = re.compile(r"\s*(https?:)?//", re.I)
CSS_ADDRESS = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])((?:https?:)?//[^'\")]+)", re.I)


class Page(html.parser.HTMLParser):
    """Collects what a page loads from another host."""

    def __init__(self):
        super().__init__()
        self.foreign = []

    def handle_starttag(self, tag, attrs):
        loaded = {"href"} if tag in ("link", "use", "image") else LOADED
        self.foreign += [value for name, value in attrs if name in loaded and value and ELSEWHERE.match(value)]
        # The theme starts this script if a page has a diagram, and loads it from a public network of copies.
        self.foreign += [
            "a mermaid block (write the picture as SVG)" for name, value in attrs if name == "class" and value and "mermaid" in value.split()
        ]


def foreign(path):
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".css":
        return CSS_ADDRESS.findall(text)
    page = Page()
    page.feed(text)
    return page.foreign


def main():
    site = pathlib.Path(sys.argv[1])
    found = [(path, what) for kind in ("*.html", "*.css") for path in sorted(site.rglob(kind)) for what in foreign(path)]
    for path, what in found:
        print(f"{path.relative_to(site)}: loads {what}: bring it into docs/pages", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
