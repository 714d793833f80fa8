#!/usr/bin/env python3
"""Man pages, and completions for bash and zsh, from what `muster --help` prints.

    pages.py MUSTER SHARE DATE      writes SHARE/man/man1, SHARE/bash-completion/completions and SHARE/zsh/site-functions
"""

import os
import re
import subprocess
import sys

OPTION = re.compile(r"^  (-[^ ]+(?:,-[^ ]+)*)", re.MULTILINE)
COMMAND = re.compile(r"^  ([a-z]+) ", re.MULTILINE)

BASH = """# bash completion for muster
_muster() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words
  case ${{COMP_WORDS[1]-}} in
{cases}
    *) words='{commands} {options}' ;;
  esac
  local i
  for ((i = 2; i < COMP_CWORD; i++)); do
    # What follows -- is another program's command line.
    if [[ ${{COMP_WORDS[i]}} == -- ]]; then compopt -o default && return; fi
  done
  if [[ $COMP_CWORD -eq 1 || $word == -* ]]; then
    [[ $COMP_CWORD -gt 1 ]] || words='{commands} {options}'
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  else
    compopt -o default
  fi
}}
complete -F _muster muster
"""

ZSH = """#compdef muster
local -a options
if (( CURRENT == 2 )); then
  compadd -- {commands} {options}
  return
fi
case $words[2] in
{cases}
esac
if (( $words[(I)--] && $words[(I)--] < CURRENT )); then
  shift $(( $words[(I)--] )) words
  (( CURRENT -= $words[(I)--] ))
  _normal
elif [[ $PREFIX == -* ]]; then
  compadd -- $options
else
  _files
fi
"""


def help_of(muster, *command):
    return subprocess.run([muster, *command, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout


def options_of(text):
    return " ".join(name for names in OPTION.findall(text) for name in names.split(","))


def man_page(name, text, date, others):
    summary = " ".join(text.split("\n\n")[0].split("Usage:")[0].split())
    first = summary.split(". ")[0].rstrip(".")
    body = "\n".join("\\&" + line.replace("\\", "\\e") for line in text.rstrip().split("\n"))
    also = ", ".join(f"{other}(1)" for other in others if other != name)
    return (
        f'.TH {name.upper()} 1 "{date}" "muster" "muster"\n'
        f".SH NAME\n{name} \\- {first}\n"
        f".SH DESCRIPTION\n.nf\n{body}\n.fi\n"
        f".SH SEE ALSO\n{also}\n"
    )


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    muster, share, date = sys.argv[1:]
    top = help_of(muster)
    names = COMMAND.findall(top.split("Subcommands:")[1].split("\n\n")[0])
    texts = {name: help_of(muster, name) for name in names}
    pages = {"muster": top, **{f"muster-{name}": text for name, text in texts.items()}}
    for name, text in pages.items():
        write(f"{share}/man/man1/{name}.1", man_page(name, text, date, pages))
    words = {"commands": " ".join(names), "options": options_of(top)}
    bash = "\n".join(f"    {name}) words='{options_of(text)}' ;;" for name, text in texts.items())
    write(f"{share}/bash-completion/completions/muster", BASH.format(cases=bash, **words))
    zsh = "\n".join(f"  {name}) options=({options_of(text)}) ;;" for name, text in texts.items())
    write(f"{share}/zsh/site-functions/_muster", ZSH.format(cases=zsh, **words))


if __name__ == "__main__":
    main()
