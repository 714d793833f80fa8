"""The reference of the C, C++ and Python interfaces, from the comments of their headers and from docstrings."""

import ast
import inspect
import re

CPP_HEADERS = [
    ("bootstrap/bootstrap.h", "The group"),
    ("comm/communicator.h", "The communicator"),
    ("comm/base/error.h", "Errors"),
    ("comm/data_type.h", "Types of elements"),
    ("comm/operation.h", "Operations"),
    ("comm/roster.h", "Ranks and nodes"),
    ("comm/map/member.h", "Maps"),
]
PYTHON = "bootstrap/python/muster"


# ---- headers


def prose(comment):
    """Markdown of a comment: a line with a deeper indent is code."""
    lines = inspect.cleandoc(comment).split("\n")
    text, code = [], False
    for line in lines:
        indented = line.startswith("  ")
        if indented != code and line:
            text += ["```" if code else "", "" if code else "```text"]
            code = indented
        text.append(line[2:] if code and indented else line)
    return "\n".join(text + (["```"] if code else []))


def c_page(read):
    header = read("bootstrap/c/muster.h")
    head, _, rest = header.partition("*/")
    text = "# C\n\n" + prose(re.sub(r"^(/\*| \*) ?", "", head, flags=re.M)) + "\n\n"
    body = rest[rest.index("/* ----") :].partition("#ifdef __cplusplus\n}")[0]
    for title, section in re.findall(r"/\* ---- (.*?) ---- \*/\n(.*?)(?=/\* ----|\Z)", body, re.S):
        text += f"## {title[0].upper()}{title[1:]}\n\n```c\n{section.strip()}\n```\n\n"
    return text


def cpp_page(read):
    text = "# C++\n\nThe headers of the library `//bootstrap`. No release contains them in binary form: build programs from source.\n\n"
    for path, title in CPP_HEADERS:
        head, _, body = read(path).partition("#pragma once\n")
        code = re.sub(r"^#include .*\n", "", body, flags=re.M).strip()
        text += f"## {title}\n\n`#include \"{path}\"`\n\n{prose(re.sub(r'^// ?', '', head, flags=re.M))}\n\n```cpp\n{code}\n```\n\n"
    return re.sub(r"\n{3,}", "\n\n", text)


# ---- Python


def docstring(node):
    """Markdown of a docstring: lines `name  meaning` are a list."""
    text = ast.get_docstring(node) or ""
    text = re.sub(r"^(\w+) {2,}(\S.*)$", r"- `\1`: \2", text, flags=re.M)
    return re.sub(r"^(?!- )(\S.*)\n(?=- `)", r"\1\n\n", text, flags=re.M)


def signature(node, name):
    if isinstance(node, ast.ClassDef):
        return f"class {name}" + (f"({', '.join(ast.unparse(base) for base in node.bases)})" if node.bases else "")
    arguments = ast.unparse(node.args)
    arguments = re.sub(r"^(self|cls)(, )?", "", arguments)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{name}({arguments}){returns}"


def is_overload(node):
    return any(ast.unparse(decorator) == "overload" for decorator in getattr(node, "decorator_list", []))


def is_property(node):
    return any(ast.unparse(decorator) in ("property", "cached_property") for decorator in node.decorator_list)


def entry(node, name, level, methods=()):
    text = docstring(node) or docstring(dict(methods).get(node.name, node))
    if isinstance(node, ast.FunctionDef) and is_property(node):
        shown = f"{name}: {ast.unparse(node.returns)}"
    else:
        shown = signature(node, name)
    return f"{'#' * level} {name.rpartition('.')[2]} {{: #{name} }}\n\n```python\n{shown}\n```\n\n{text}\n\n"


def public_members(node):
    for member in node.body:
        if isinstance(member, ast.FunctionDef) and not member.name.startswith("_") and not is_overload(member):
            yield member.name, member


def own_imports(init):
    """Those of the package's modules, also of the ones that load later (`if TYPE_CHECKING`)."""
    bodies = [init.body, *(one.body for one in init.body if isinstance(one, ast.If))]
    return [one for body in bodies for one in body if isinstance(one, ast.ImportFrom) and one.level]


def python_page(read):
    init = ast.parse(read(f"{PYTHON}/__init__.py"))
    imports = own_imports(init)
    modules = [one.module for one in imports]
    definitions = {}
    for module in dict.fromkeys(modules):
        for node in ast.parse(read(f"{PYTHON}/{module}.py")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not is_overload(node):
                definitions[node.name] = node
    names = [alias.name for one in imports for alias in one.names]
    methods = list(public_members(definitions["Communicator"]))
    text = "# Python\n\n" + docstring(init).partition("\n")[2].strip() + "\n\n"
    for title, wanted in [
        ("Functions", lambda node: isinstance(node, ast.FunctionDef)),
        ("Classes", lambda node: isinstance(node, ast.ClassDef)),
    ]:
        text += f"## {title}\n\n"
        for name in sorted(names, key=str.lower):
            node = definitions[name]
            if not wanted(node):
                continue
            text += entry(node, f"muster.{name}", 3, methods)
            if isinstance(node, ast.ClassDef):
                text += "".join(entry(member, f"muster.{name}.{inner}", 4) for inner, member in public_members(node))
    module = ast.parse(read(f"{PYTHON}/torch.py"))
    text += f"## muster.torch\n\n{docstring(module)}\n\n"
    return text + "".join(entry(node, f"muster.torch.{name}", 3) for name, node in public_members(module))
