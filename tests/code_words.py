"""The language rules of CONTRIBUTING.md in code, as far as a program can check them: comments, messages and help texts."""

import io
import os
import re
import sys
import tokenize

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "docs"))
import words  # noqa: E402

PRODUCT = ("bootstrap/", "comm/")
TOPS = PRODUCT + ("tests/bootstrap/", "tests/comm/")
# Beside those of prose. Comments and messages have shorter sentences, with fewer meanings of a word.
RULES = words.RULES + [
    (r"\bwhoever\b", "1: a subject in place of a clause with whoever"),
    (r"\b(?:says?|said|tells?|told|hears?|heard|believes?|believed|knows|knew|looks)\b", "2: logs, reports, queries, receives, trusts, checks"),
    (r"(?:\b(?:[Oo]nly|[Aa]lso|[Ee]ven|[Ee]xcept|[Bb]ut|[Tt]rue|[Ff]alse|[Ff]ails?|[Ee]mpty|unset)|, else) where\b", "3: if or when"),
    (r"\bwhere (?:there is|there are|it is) (?:no|none|not|one)\b", "3: if or when"),
]
# Names that have a word of the rules.
ALLOWED = re.compile(r"known_hosts|\"nobody\"")
# A comment, a raw string, a string, a character.
CPP = re.compile(
    r'//(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/|R"(?P<mark>[^(\s]*)\((?P<raw>.*?)\)(?P=mark)"|"(?P<text>(?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\\n]|\\.)+\'',
    re.S,
)


class Pieces:
    """[line, is a comment, text]: neighbouring comments are one, and so are neighbouring strings."""

    def __init__(self):
        self.found, self._end = [], None

    def add(self, line, last_line, comment, text, joins):
        if joins and self.found and self.found[-1][1] == comment and (not comment or line == self._end + 1):
            self.found[-1][2] += ("\n" if comment else "") + text
        else:
            self.found.append([line, comment, text])
        self._end = last_line


def pieces_of_cpp(text):
    pieces, end, line = Pieces(), 0, 1
    for match in CPP.finditer(text):
        between = text[end : match.start()]
        line += between.count("\n")
        last = line + match[0].count("\n")
        comment = match["line"] is not None or match["block"] is not None
        bodies = [match[name] for name in ("line", "block", "raw", "text") if match[name] is not None]
        if bodies:
            pieces.add(line, last, comment, bodies[0].replace("\\n", "\n").replace('\\"', '"'), not between.strip())
        line, end = last, match.end()
    return pieces.found


def pieces_of_python(text):
    pieces, before = Pieces(), None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            pieces.add(token.start[0], token.end[0], True, token.string.lstrip("#"), not token.line[: token.start[1]].strip())
        elif token.type == tokenize.STRING:
            statement = before in (None, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
            pieces.add(token.start[0], token.end[0], statement, token.string.strip("rbfu\"'"), not statement and before == tokenize.STRING)
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            before = token.type
    return pieces.found


def pieces_of_shell(text):
    pieces = Pieces()
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(r"\s*#", line):
            pieces.add(number, number, True, line.strip().lstrip("#!"), True)
    return pieces.found


def pieces_of(path, text):
    if path.endswith((".cc", ".h", ".c", ".cu", ".inc", ".js")):
        return pieces_of_cpp(text)
    if path.endswith((".py", ".pyi", ".bazel")):
        return pieces_of_python(text)
    return pieces_of_shell(text) if path.endswith(".sh") or text.startswith("#!") else []


def problems(path, text):
    """What is wrong in a file. Strings of tests may be anything: they are input as well."""
    for line, comment, body in pieces_of(path, text):
        if comment or path.startswith(PRODUCT):
            prose = re.sub(r"`[^`]*`", "CODE", re.sub(r"\s*\n[\s/*#]*", " ", body)).strip()
            for sentence in words.sentences(prose):
                if not ALLOWED.search(sentence):
                    wrong = sorted({advice for pattern, advice in RULES if re.search(pattern, sentence)})
                    yield from (f"{path}:{line}: rule {advice}: {sentence}" for advice in wrong)


BAD = {
    "comm/a.cc": 'int a;  // Whoever comes.\nLog("rank {} " "tells");\n// Nobody\n// waits.\n/* At\n * once. */\nauto b = R"(It is empty where\n\nnone)";',
    "comm/a.py": '"""What it does."""\nprint("It " "says")  # Where it is.\n# All at\n# once.\n',
    "tests/comm/a.sh": "#!/bin/sh\n# Somebody\necho nobody  # here\n",
}
FOUND = {"comm/a.cc": [1, 2, 3, 3, 7], "comm/a.py": [1, 2, 2, 2], "tests/comm/a.sh": [1]}
GOOD = {"comm/a.cc": "// `Nobody` waits; known_hosts knows.\nchar c = '\"';  // x\n", "tests/comm/a.cc": 'Log("nobody");'}


def self_test():
    lines = {path: [int(what.split(":")[1]) for what in problems(path, text)] for path, text in BAD.items()}
    return [f"found: {lines}"] * (lines != FOUND) + [what for path, text in GOOD.items() for what in problems(path, text)]
