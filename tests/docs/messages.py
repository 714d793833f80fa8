"""The hints that muster gives, from its source, and the troubleshooting pages that must have each."""

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
