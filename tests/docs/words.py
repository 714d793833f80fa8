"""The language rules of CONTRIBUTING.md, as far as a program can check them."""

import re

MOST_WORDS = 25
# Pattern, and what to write instead. The number is that of the rule.
RULES = [
    (r"(?:^|[.!:] )(?:Who|Whoever|Whose|What|Whatever)\b[^?]*$", "1: a subject in place of a clause with who, what or whose"),
    (
        r"\b(?:muster|[Ss]lurm|PyTorch|srun|torchrun|NCCL|[Ii]t|[Rr]ank \w+|[Tt]he \w+) (?:says?|tells?|hears?|believes?|looks?|speaks?|thinks?|wants?|asks?|knows?)\b",
        "2: logs, reports, queries, receives, trusts, checks",
    ),
    (r"(?:^|[.!] )Where\b[^?]*$", "3: if or when"),
    (r"\b(?:[Nn]obody|[Ss]omebody|[Ee]verybody|[Ee]veryone|[Aa]nyone|[Ss]omeone|[Aa]nybody)\b", "4: rank, process, node, user"),
    (r"\b(?:[Gg]oodbyes?|[Ff]arewell|[Ll]ast words|[Ss]tory|[Dd]oors?|[Dd]esks?)\b", "6: no metaphor"),
    (r"\b(?:[Aa]t once|[Aa]ll the same|[Bb]ut for|[Ss]o many|[Aa]ny more)\b", "7: immediately, or a number"),
]
BAD = [
    "Who hears nothing ends.",
    "The log tells which.",
    "It asks Slurm.",
    "Where it is missing, it fails.",
    "Nobody waits.",
    "It says goodbye.",
    "All end at once.",
    "one " * 26 + "end.",
]
GOOD = ["Who starts the ranks?", "muster logs the rank.", "If it is missing, start it.", "`Who` ends.", "one " * 24 + "end."]


def plain(line):
    """Without code, links' addresses and marks; code is one word."""
    line = re.sub(r"<!--.*?-->", "", line)
    line = re.sub(r"`+[^`]*`+", "CODE", line)
    line = re.sub(r"\]\([^)]*\)|\]\[[^\]]*\]", "]", line)
    line = re.sub(r"\bhttps?://\S+", "LINK", line)
    return re.sub(r"[*_\[\]]", "", line).strip()


def paragraphs(text):
    """(line number, prose): paragraphs, items of lists and cells of tables; no blocks of code."""
    found, fence, front = [], None, False
    for number, line in enumerate(text.split("\n"), 1):
        opened = re.match(r"\s*(```+|~~~+)", line)
        if fence:
            fence = None if opened and line.strip() == fence else fence
        elif opened:
            fence, front = opened[1], False
        elif re.match(r"\s*\|", line):
            found += [(number, plain(cell)) for cell in line.strip().strip("|").split(" | ")]
            front = False
        elif not line.strip() or re.match(r"(#|    |\s*!!!|\s*\?\?\?|\s*===|\s*<)", line) and not re.match(r"\s+([-*]|\d+\.) ", line) and not front:
            front = False
            found += [(number, plain(line.strip().lstrip("#")))] if line.startswith("#") else []
        elif front and not re.match(r"\s*([-*]|\d+\.) ", line):
            found[-1] = (found[-1][0], f"{found[-1][1]} {plain(line)}")
        else:
            found.append((number, re.sub(r"^([-*]|\d+\.) ", "", plain(line))))
            front = True
    return found


def sentences(prose):
    return [one for one in re.split(r"(?<=[.!?:;])\s+", prose) if one]


def wrong_with(sentence):
    found = [f"rule {advice}: {sentence}" for pattern, advice in RULES if re.search(pattern, sentence)]
    count = len(re.findall(r"\w[\w'’./-]*", sentence))
    return found + ([f"rule 8: {count} words, at most {MOST_WORDS}: {sentence}"] if count > MOST_WORDS else [])


def problems(path, text):
    return [f"{path}:{number}: {what}" for number, prose in paragraphs(text) for one in sentences(prose) for what in wrong_with(one)]


def self_test():
    missed = [f"it does not find: {bad}" for bad in BAD if not problems("", bad)]
    return missed + [what for good in GOOD for what in problems("", good)]
