"""Which types a C++ source file names for all of a program: classes, structs, unions, enums and aliases at namespace scope.

Two types of the same name in one program violate C++'s one-definition rule. The compiler need not report it: the linker
keeps the destructor of one of them for both. Types in unnamed namespaces, in functions and in other types do not count. An
alias violates nothing, but it cannot be included together with a type of its name.
"""

import re

# Comments, raw strings, strings, characters and preprocessor lines have braces of their own.
IGNORED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\n|[^\n])*",
    re.S | re.M,
)
TOKEN = re.compile(r"[A-Za-z_]\w*|::|[{};()<>=:,\[\]]")
KEYWORDS = ("class", "struct", "union", "enum")


def tokens(text):
    """(token, line) of what counts."""
    bare = IGNORED.sub(lambda match: "\n" * match[0].count("\n") or " ", text)
    line, at = 1, 0
    for match in TOKEN.finditer(bare):
        line += bare.count("\n", at, match.start())
        at = match.start()
        yield match[0], line


def _without_brackets(words):
    """Without what stands in (), <> or []: attributes, alignas, template parameters and arguments."""
    depth, kept = 0, []
    for word, line in words:
        if word in "(<[":
            depth += 1
        elif word in ")>]":
            depth -= 1
        elif depth == 0:
            kept.append((word, line))
    return kept


def _opened(words):
    """The kind of scope that a { after these words opens: ("namespace", name or ""), ("type", name, line), or ("other",)."""
    outer = _without_brackets(words)
    names = [word for word, _ in outer]
    if "namespace" in names:
        rest = names[names.index("namespace") + 1 :]
        return ("namespace", "".join(rest))
    first = next((i for i, name in enumerate(names) if name in KEYWORDS), None)
    # A function that returns a struct has its parameters before the brace, an initialised variable a "=".
    if first is None or "=" in names or words[-1][0] == ")" or "operator" in names:
        return ("other",)
    # A specialisation is a type of its own, known by its arguments.
    name = next(((word, line) for word, line in outer[first:] if word not in (*KEYWORDS, "final")), None)
    if name is None or name[0] == ":":
        return ("other",)
    before_bases = names[first : names.index(":", first) if ":" in names[first:] else len(names)]
    if sum(word not in (*KEYWORDS, "final", "alignas") for word in before_bases) != 1:
        return ("other",)
    return ("type", name[0] + _arguments(words, name[0]), name[1])


def _arguments(words, name):
    plain = [word for word, _ in words]
    after = len(plain) - 1 - plain[::-1].index(name) + 1 if name in plain else len(plain)
    if plain[after : after + 1] != ["<"]:
        return ""
    end = plain.index(">", after)
    return "".join(plain[after : end + 1])


def _at_namespace(scopes):
    """Of which none is unnamed."""
    return all(kind == "namespace" and name for kind, name, *_ in scopes)


def types(text):
    """(qualified name, line) of each type or alias that the text names for the whole program."""
    scopes, words = [], []
    for token, line in tokens(text):
        if token == "{":
            scope = _opened(words) if words else ("other",)
            if scope[0] == "type" and _at_namespace(scopes):
                yield "::".join([name for _, name, *_ in scopes] + [scope[1]]), scope[2]
            scopes.append(scope if len(scope) > 1 else (scope[0], ""))
            words = []
        elif token == "}":
            if scopes:
                scopes.pop()
            words = []
        elif token == ";":
            names = [word for word, _ in _without_brackets(words)]
            at = names.index("using") if "using" in names else len(names)
            if _at_namespace(scopes) and names[at + 2 : at + 3] == ["="]:
                yield "::".join([name for _, name, *_ in scopes] + [names[at + 1]]), line
            words = []
        else:
            words.append((token, line))


def places(files):
    """{name: [(file, line), ...]} of the types that the {file: text} define."""
    found = {}
    for file, text in files.items():
        for name, line in types(text):
            found.setdefault(name, []).append((file, line))
    return found


def twice(files, programs=()):
    """{name: [(file, line), ...]} of types that more than one of the {file: text} defines, or one of them and a program: a
    {file: text} whose files are each linked with some of `files`, and not with each other."""
    found = places(files)
    for name, others in places(dict(programs)).items():
        if name in found:
            found[name] += others
    return {name: where for name, where in found.items() if len({file for file, _ in where}) > 1}
