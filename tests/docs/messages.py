"""The hints that muster gives, from its source, and the troubleshooting pages that must have each. The messages that these pages
show, and the source that must have each."""

import errno
import glob
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = "docs/pages/troubleshooting"
ROOMS = ("bootstrap", "comm")
# A hint stands last in WithHint(..., hint), and third after a code: {Code::kUsage, message, hint}.
PLACES = [
    (re.compile(r"\bWithHint\("), 1),
    (re.compile(r"\b(?:Result<\w+>|Error|Fail|Invalid|Unusable|Malformed|return)?\s*[({]\s*\{?(?=Code::k\w+,)"), 2),
]
ASSIGNED = re.compile(r"\bhint \+?= ([^;]*);")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"(?:\s*"((?:[^"\\\n]|\\.)*)")*')
PIECE = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
# Elsewhere a hint is a sentence of three words or more that begins with a verb; these rooms have other such sentences.
IMPERATIVE = re.compile(
    r"(add|allocate|ask|bind|call|change|check|choose|exec|export|free|give|install|leave|look|make|map|put|raise|remove|return|"
    r"run|set|start|unset|use|wait|write) \S+ \S"
)
NOT_HINTS = re.compile(r"(exec sh -c|make (an?|the) \S+( \S+)?$|run a kernel$|use its context$|make the directory that|set (auto-load|debuginfod)|start another process$|it cannot be forced$)")
NO_HINTS = ("bootstrap/cli/", "bootstrap/config/table.cc", "bootstrap/config/schema.cc")
CONSTANT = re.compile(r'\b(k\w+)(?:\[\])?\s*=\s*((?:"(?:[^"\\\n]|\\.)*"\s*)+);')
PLACEHOLDER = re.compile(r"\{[^{}]*\}")


def sources():
    for room in ROOMS:
        for pattern in ("*.cc", "*.h"):
            for path in sorted(glob.glob(os.path.join(ROOT, room, "**", pattern), recursive=True)):
                with open(path, encoding="utf-8") as file:
                    yield os.path.relpath(path, ROOT), re.sub(r"^\s*//.*$", "", file.read(), flags=re.M)


def arguments(text, start):
    """The top-level arguments from `start` on, to the end of their list."""
    depth, quoted, found, begin, at = 0, False, [], start, start
    while at < len(text):
        letter = text[at]
        if quoted:
            at += letter == "\\"
            quoted = letter != '"'
        elif letter == '"':
            quoted = True
        elif letter in "({[":
            depth += 1
        elif letter in ")}]":
            if depth == 0:
                return [*found, text[begin:at]]
            depth -= 1
        elif letter == "," and depth == 0:
            found.append(text[begin:at])
            begin = at + 1
        at += 1
    return found


def unescaped(literal):
    return "".join(PIECE.findall(literal)).replace('\\"', '"').replace("\\\\", "\\").replace("\\n", "\n")


def texts(expression, constants):
    """The sentences of an expression: its literals, and those of constants."""
    for literal in LITERAL.finditer(expression):
        yield unescaped(literal.group(0))
    for name in re.findall(r"\bk[A-Z]\w+", LITERAL.sub("", expression)):
        if name in constants:
            yield constants[name]


def hints():
    """{hint: file}. A literal with less than three words of its own is a part of another."""
    found = {}
    everything = list(sources())
    for path, text in everything:
        constants = {name: unescaped(value) for name, value in CONSTANT.findall(text)}
        if path.endswith(".cc") and not path.startswith(NO_HINTS):
            for literal in LITERAL.finditer(text):
                if IMPERATIVE.match(unescaped(literal.group(0))):
                    found.setdefault(unescaped(literal.group(0)), path)
        for expression in ASSIGNED.findall(text):
            for hint in texts(expression, constants):
                if len(PLACEHOLDER.sub("", hint).split()) > 2:
                    found.setdefault(hint, path)
        for place, position in PLACES:
            for match in place.finditer(text):
                given = arguments(text, match.end())
                if len(given) <= position:
                    continue
                for hint in texts(given[position] if position == 2 else given[-1], constants):
                    if len(PLACEHOLDER.sub("", hint).split()) > 2:
                        found.setdefault(hint, path)
    return {hint: path for hint, path in found.items() if not NOT_HINTS.match(hint)}


def pages():
    text = ""
    for path in sorted(glob.glob(os.path.join(ROOT, PAGES, "*.md"))):
        with open(path, encoding="utf-8") as file:
            text += file.read() + "\n"
    return text


def plain(text):
    return " ".join(text.replace("`", "").split())


def pattern_of(hint):
    """A hint as it may stand in a page: any words for its placeholders."""
    text = plain(hint.replace("{{", "\0").replace("}}", "\1"))
    parts = [re.escape(part.replace("\0", "{").replace("\1", "}")) for part in PLACEHOLDER.split(text)]
    return re.compile(".{1,200}?".join(parts).replace(r"\{", r"\{+").replace(r"\}", r"\}+"))


def missing_hints():
    text = plain(pages())
    return [f"{hint}  ({path})" for hint, path in sorted(hints().items()) if not pattern_of(hint).search(text)]


# ---- the messages of the pages

# The values in a message. Every pair of words between them must be a pair of the source.
ERRORS = "|".join(re.escape(os.strerror(number)) for number in errno.errorcode)
VALUE = re.compile(
    rf'"[^"]*"|{ERRORS}|\b(?:local )?(?:ranks?|items?) (?:[\d,-]+|\w\b)(?: on [\w,-]+)?|\w+\[[^]]*\]|\b\d\S*(?: s\b)?|\b(?:ranks?|item)\b'
)
NAMES = {"munge", "muster", "nccl", "pmi", "secret", "send", "slurm", "torch-env"}
HOLE = "{}"
SHOWN = [
    (re.compile(r"^```text\n(.*?)^```", re.M | re.S), re.compile(r"^.+$", re.M)),
    (re.compile(r"^##+ [a-z-].*?(?= \{:|$)", re.M), re.compile(r"[^#]+")),
    (re.compile(r"^\| (?!message|finding|command|words|line).*\|$", re.M), re.compile(r"`([^`]+)`")),
]


def runs(text):
    """Neighbouring words, with HOLE for values; a mark ends a run."""
    found = [[]]
    for token in re.findall(r"\{\}|[\w'.=/:$#*-]+|\S", VALUE.sub(f" {HOLE} ", PLACEHOLDER.sub(f" {HOLE} ", text.replace("`", "")))):
        word = token.rstrip(".:")
        if word == HOLE or word in NAMES:
            found[-1].append(HOLE)
        elif re.fullmatch(r"[a-z][a-z'-]*", word):
            found[-1].append(word)
        else:
            found.append([])
        if word != token:
            found.append([])
    return [run for run in found if run]


def windows(run, size):
    return {tuple(run[at : at + size]) for at in range(len(run) - size + 1)}


class Phrases:
    """Up to three words in a row, of the source's literals. At a value another literal may go on."""

    def __init__(self, literals):
        self.known = set()
        for literal in literals:
            for run in runs(literal.replace("{{", "(").replace("}}", ")")):
                self.known.update(*(windows([HOLE, *run, HOLE], size) for size in (2, 3, 4)))

    def has(self, words):
        joined = any({(*words[:at], HOLE), (HOLE, *words[at:])} <= self.known for at in range(1, len(words)))
        return HOLE in words or words in self.known or joined


def stale(text, phrases):
    """The messages of a page with words that no message of the source has in this order."""
    for block, part in SHOWN:
        for shown in block.findall(text):
            for message in part.findall(shown):
                wrong = [" ".join(words) for run in runs(message) for words in windows(run, min(3, len(run))) if len(words) > 1 and not phrases.has(words)]
                if wrong:
                    yield f"{message.strip()}  (not in the source: {', '.join(sorted(wrong))})"


def stale_messages():
    phrases = Phrases(unescaped(literal.group(0)) for _, text in sources() for literal in LITERAL.finditer(text))
    if list(stale("## nothing to run: no CMD\n", phrases)) or not list(stale("## nothing was to run\n", phrases)):
        return ["it does not find what is stale"]
    return list(stale(pages(), phrases))
