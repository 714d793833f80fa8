"""mutate.py FILE TEXT REPLACEMENT: prints the file with one replacement; an error unless it has the text once."""

import sys

name, text, replacement = sys.argv[1:]
with open(name, encoding="utf-8") as file:
    content = file.read()
if content.count(text) != 1:
    sys.exit(f"{name} has {content.count(text)} times: {text}")
print(f'#line 1 "{name}"\n{content.replace(text, replacement)}', end="")
