"""The questions of new users: each answer is two clicks from the front page."""

import os
import re

LINK = re.compile(r"\]\(([^)#\s]+\.md)(?:#[^)]*)?\)")
# The question, the page of its answer, its heading, and words of the answer.
QUESTIONS = [
    ("How do I install muster without root?", "how-to/install.md", "The tarball", "~/.local"),
    ("Which command do I need?", "how-to/which-command.md", "Which command do I need?", "srun muster run --"),
    ("What replaces --rdzv-endpoint?", "migrate/torchrun.md", "Flag by flag", "--rdzv-endpoint"),
    ("My job hangs: which rank is it?", "tutorials/hanging-job.md", "What do the ranks do?", "muster status"),
    ("this is the batch script of Slurm job", "troubleshooting/rank.md", "this is the batch script of Slurm job 4", "`srun` before"),
    ("What is exit status 75?", "troubleshooting/index.md", "`deadline`: exit status 75", "missing ranks"),
    ("Does --export=NONE work?", "faq/slurm.md", "Does --export=NONE work?", "MUSTER_SECRET"),
    ("Which ports must the firewall open?", "faq/network.md", "Do I need to open the firewall?", "61000-64999"),
    ("How do several ranks use one GPU?", "how-to/gpus.md", "Several ranks a GPU", "share_device"),
    ("How does MUNGE work in Apptainer?", "how-to/containers.md", "Apptainer", "/run/munge"),
]
CLICKS = 2


def reached(pages, clicks):
    """The pages that at most `clicks` links of the text lead to. pages: {path: text}."""
    found = {"index.md"}
    for _ in range(clicks):
        links = [(page, target) for page in found for target in LINK.findall(pages[page])]
        found |= {os.path.normpath(os.path.join(os.path.dirname(page), target)) for page, target in links} & set(pages)
    return found


def section(text, heading):
    """From a heading to the next one of its level; '' if there is none."""
    start = re.search(rf"^(#+) {re.escape(heading)}.*$", text, re.M)
    return re.split(rf"^#{{1,{len(start[1])}}} ", text[start.end() :], maxsplit=1, flags=re.M)[0] if start else ""


def problems(pages, questions=tuple(QUESTIONS), clicks=CLICKS):
    near = reached(pages, clicks)
    for question, page, heading, words in questions:
        if page not in near:
            yield f"{question} {page} is more than {clicks} clicks from the front page"
        elif words not in section(pages[page], heading):
            yield f"{question} '{heading}' of {page} does not have: {words}"


def self_test():
    pages = {"index.md": "[a](a/b.md)", "a/b.md": "# one\ntext\n# two\n[c](../c.md#x)", "c.md": "# far\nwords"}
    asked = [("1", "a/b.md", "one", "text"), ("2", "a/b.md", "two", "text"), ("3", "c.md", "far", "words")]
    found = [what[0] for what in problems(pages, asked, 1)] + [what[0] for what in problems(pages, asked, 2)]
    return [] if found == ["2", "3", "2"] else [f"questions: {found}"]
