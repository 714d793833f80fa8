"""Do the links of a folder of Markdown lead to files of it? In a clone some pages of the reference exist in the built site only."""

import os
import pathlib
import re
import subprocess
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^( *)(```+).*?\n.*?^\1\2$", re.M | re.S)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"`[^`\n]+`")


def broken(folder):
    """(page, link): links to other hosts are not among them."""
    for page in sorted(folder.rglob("*.md")):
        text = CODE.sub("", FENCE.sub("", page.read_text(encoding="utf-8")))
        for link in LINK.findall(text):
            if "://" not in link and not link.startswith("mailto:") and not os.path.exists(page.parent / link):
                yield page.relative_to(folder), link


def of_release(muster):
    """What is wrong with share/doc/muster of a release: README.md and the pages, without the site."""
    with tempfile.TemporaryDirectory(prefix="muster-plain-") as place:
        folder = pathlib.Path(place)
        made = subprocess.run(
            [TOP / "deploy/docs/plain.py", folder / "docs/pages"],
            env={**os.environ, "MUSTER": str(muster)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if made.returncode:
            return [made.stdout.strip()]
        for name in ("README.md", "CHANGELOG.md", "LICENSE"):
            (folder / name).symlink_to(TOP / name)
        raw = [page for page in folder.rglob("*.md") if re.search(r'^ *(--8<--|=== "|!!! |\?\?\? )', page.read_text(encoding="utf-8"), re.M)]
        wrong = [f"{page}: {link} does not exist" for page, link in broken(folder)]
        return wrong + [f"{page.relative_to(folder)}: an extension of Markdown, which a reader without the site does not see" for page in raw]


def self_test():
    with tempfile.TemporaryDirectory(prefix="muster-links-") as place:
        folder = pathlib.Path(place)
        (folder / "a").mkdir()
        (folder / "a/b.md").write_text("[up](../c.md#x), [no](d.md), `[code](e.md)`, [web](https://f/g.md)\n```text\n[h](i.md)\n```\n")
        (folder / "c.md").write_text("[x](#here)")
        found = list(broken(folder))
    return [] if found == [(pathlib.Path("a/b.md"), "d.md")] else [f"links: {found}"]
