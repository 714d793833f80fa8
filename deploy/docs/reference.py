"""The pages of docs/pages/reference that are made from the code when the site is built: none of them can be stale.

    python3 deploy/docs/reference.py FOLDER    writes them as files

MkDocs calls on_files (docs/mkdocs.yml). The page of the commands comes from the program itself: $MUSTER, else
bazel-bin/bootstrap/cli/muster, which Bazel builds first.
"""

import functools
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import api_pages  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCHEMAS = "docs/pages/reference/schemas"


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


# ---- commands


@functools.lru_cache(maxsize=None)
def muster():
    if "MUSTER" in os.environ:
        return os.environ["MUSTER"]
    subprocess.run(["bazel", "build", "--noshow_progress", "//bootstrap/cli:muster"], cwd=ROOT, check=True)
    return os.path.join(ROOT, "bazel-bin/bootstrap/cli/muster")


def help_of(*words):
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "110"}
    return subprocess.run([muster(), *words, "--help"], check=True, capture_output=True, text=True, env=environment).stdout


def commands():
    manual = json.loads(subprocess.run([muster(), "help", "--json"], check=True, capture_output=True, text=True).stdout)
    names = [command["name"] for command in manual["commands"]]
    text = "# Commands\n\nEach is the output of `muster COMMAND --help` of this release.\n\n"
    text += f"## muster\n\n```text\n{help_of()}```\n"
    for name in names:
        text += f"\n## muster {name}\n\n```text\n{help_of(name)}```\n"
    return text


# ---- tables of the code


def error_codes():
    """(name, exit status, comment) of each error code."""
    comments = re.findall(r"^  k(\w+), +// (.*)$", read("comm/base/error.h"), re.M)
    facts = re.findall(r'^    \{"(\w+)", (\d+)\},$', read("comm/base/error.cc"), re.M)
    if not facts or len(comments) != len(facts):
        raise SystemExit("reference.py: the codes of comm/base/error.h and error.cc are not understood")
    return [(name, int(status), comment) for (name, status), (_, comment) in zip(facts, comments)]


def exit_codes():
    rows = "".join(f"| {status} | `{name}` | {comment} |\n" for name, status, comment in error_codes())
    return f"""# Exit status

`muster run`, `muster launch` and `muster map` exit with the status of the first program that failed, on every rank: its own, or
128 + N after signal N. If no program failed, the status is 0 or one of these. The name is the `code` in JSON output, in the log
and in the errors of the libraries. [Troubleshooting](../troubleshooting/index.md) has each message.

| status | code | meaning |
| --- | --- | --- |
| 0 | | everything succeeded |
{rows}| 80 | `time_is_up` | a map: the job ends soon, and items are left; start it again |
| 128 + N | | signal N ended the program, or muster itself |

70 is a defect of muster: report it. Slurm's `--kill-on-bad-exit` may replace the status of further ranks.
"""


def configuration():
    text = re.sub(r"Generated from \S+\. ", "", read("configs/REFERENCE.md"))
    return text.replace("# Every key of the configuration\n", "# Configuration\n", 1) + (
        "\n`muster config --explain` shows the values in effect and their origin. The [JSON Schema](schemas/config.schema.json) of a "
        "file serves editors: begin the file with `# yaml-language-server: $schema=FILE`.\n"
    )


def launchers():
    return re.sub(r"Generated from the rows .*\n\n", "", read("bootstrap/resolve/launchers/LAUNCHERS.md"), count=1)


# ---- JSON


def type_of(schema):
    if "anyOf" in schema:
        return " or ".join(type_of(one) for one in schema["anyOf"])
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{{}}-{name})"
    if "enum" in schema:
        return " ".join("null" if value is None else f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    kinds = schema.get("type", "any")
    text = " or ".join(kinds) if isinstance(kinds, list) else kinds
    if "items" in schema:
        return f"list of {type_of(schema['items'])}s"
    return text


def inner_objects(schema, path):
    """The objects inside a schema that have no name of their own."""
    if "properties" in schema:
        yield path, schema
        for name, value in schema["properties"].items():
            yield from inner_objects(value, f"{path}.{name}" if path else name)
    for one in [*schema.get("anyOf", []), *([schema["items"]] if "items" in schema else [])]:
        yield from inner_objects(one, path)


def table(schema, page):
    text = "| key | type | meaning |\n| --- | --- | --- |\n"
    for name, value in schema["properties"].items():
        optional = "" if name in schema["required"] else "; may be absent"
        kind = type_of(value).replace("{}", page).replace("|", "\\|")
        text += f"| `{name}` | {kind} | {value.get('description', '')}{optional} |\n"
    return text + "\n"


def tables(schema, page, path=""):
    return "".join(
        (f"`{inner}`:\n\n" if inner else "") + table(one, page) for inner, one in inner_objects(schema, path)
    )


def schema_names():
    ends = ".schema.json"
    return sorted(name[: -len(ends)] for name in os.listdir(os.path.join(ROOT, SCHEMAS)) if name.endswith(ends))


def json_formats():
    text = """# JSON

The JSON that muster prints, as [JSON Schema 2020-12](https://json-schema.org/draft/2020-12). Keys keep their meaning in all
releases with the same major version; keys may be added. Sentences (`message`, `hint`, `warnings`, `reason`) may change. If a
command with `--json` fails, it prints an object with the key [error](#error), and its exit status follows from the code.

Programs that read this JSON should ignore keys that they do not know.

"""
    for name in schema_names():
        schema = json.loads(read(f"{SCHEMAS}/{name}.schema.json"))
        text += f"## {name}\n\n{schema['title']}. [Schema](schemas/{name}.schema.json)\n\n"
        definitions = schema.get("$defs", {})
        if "oneOf" in schema:
            for one in schema["oneOf"]:
                text += f"- {type_of(one).replace('{}', name)}: {one['description']}\n"
            text += "\n"
        text += tables(schema, name)
        for part, definition in definitions.items():
            if "properties" in definition or "anyOf" in definition:
                text += f"### {name}: {part} {{: #{name}-{part} }}\n\n"
                text += f"{definition.get('description', '')}\n\n".lstrip("\n") + tables(definition, name)
            else:
                text += f"### {name}: {part} {{: #{name}-{part} }}\n\n{definition['description']}\n\n"
                text += tables(definition, name)
    return text


def pages():
    return {
        "commands.md": commands(),
        "configuration.md": configuration(),
        "exit-status.md": exit_codes(),
        "launchers.md": launchers(),
        "json.md": json_formats(),
        "c.md": api_pages.c_page(read),
        "cpp.md": api_pages.cpp_page(read),
        "python.md": api_pages.python_page(read),
        "schemas/config.schema.json": read("configs/schema.json"),
    }


def on_files(files, config):
    from mkdocs.structure.files import File

    for name, text in pages().items():
        files.append(File.generated(config, f"reference/{name}", content=text))
    return files


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        raise SystemExit(__doc__)
    for name, text in pages().items():
        path = os.path.join(sys.argv[1], name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
