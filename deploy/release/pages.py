#!/usr/bin/env python3
"""Man pages, and completions for bash, zsh and fish, from the manual that `muster help --json` prints.

    pages.py MUSTER SHARE DATE

Writes man pages to SHARE/man/man1 and SHARE/man/man5, and completions to SHARE/bash-completion/completions, SHARE/zsh/site-functions and
SHARE/fish/vendor_completions.d. MUSTER is a program, or a file with its JSON.
"""

import json
import os
import re
import subprocess
import sys

# Their last argument is a program with its own arguments.
PROGRAM = "CMD"


def all_options(command):
    return [option for group in command["option_groups"] for option in group["options"]]


def words_of(option):
    """The words that its value can be; empty if any text is."""
    found = option["value"].split("|")
    return [word for word in found if word.islower() or re.fullmatch(r"[a-z]+\d*", word)] if len(found) > 1 else []


def takes(option, *names):
    return option["value"] in names


def has_program(command):
    return any(positional["value"] == PROGRAM for positional in command["positionals"])


# Man pages


def roff(text):
    """Text for a line of its own, without the requests and escapes of roff."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)


def paragraphs(text):
    parts = []
    for part in text.strip().split("\n\n"):
        if any(line.startswith(" ") for line in part.split("\n")):
            parts.append(f".PP\n.nf\n{roff(part)}\n.fi")
        else:
            parts.append(".PP\n" + roff(" ".join(part.split())))
    return "\n".join(parts) + "\n" if text.strip() else ""


def tagged(name, text):
    return f".TP\n{name}\n{roff(text)}\n"


def option_entry(option):
    names = ", ".join(f"\\fB{roff(name)}\\fR" for name in option["names"])
    value = f" \\fI{roff(option['value'])}\\fR" if option["value"] else ""
    return tagged((names + value).strip(), option["text"])


def examples(command):
    if not command["examples"]:
        return ""
    body = ""
    for example in command["examples"]:
        purpose = f"{roff(example['purpose'][0].upper() + example['purpose'][1:])}:\n" if example["purpose"] else ""
        body += f".PP\n{purpose}.RS 4\n.nf\n{roff(example['command'])}\n.fi\n.RE\n"
    return f".SH EXAMPLES\n{body}"


def heading(name, section, date, version, summary):
    return f'.TH "{name.upper()}" "{section}" "{date}" "muster {version}" "muster"\n.SH NAME\n{name} \\- {roff(summary)}\n'


def see_also(name, manual):
    names = [("muster", 1)] + [(f"muster-{command['name']}", 1) for command in manual["commands"]] + [("muster.yaml", 5)]
    return ".SH SEE ALSO\n" + ",\n".join(f".BR {roff(other)} ({n})" for other, n in names if other != name).replace("),\n", ") ,\n") + "\n"


def command_page(command, manual, date):
    name = f"muster-{command['name']}"
    page = heading(name, 1, date, manual["version"], command["summary"])
    page += f".SH SYNOPSIS\n.B {roff(command['usage'])}\n.SH DESCRIPTION\n{paragraphs(command['details'])}"
    page += ".SH OPTIONS\n" + "".join(option_entry(positional) for positional in command["positionals"])
    for group in command["option_groups"]:
        page += f".SS {roff(group['title'])}\n" + "".join(map(option_entry, group["options"]))
    if command["notes"]:
        page += f".SH NOTES\n{paragraphs(command['notes'])}"
    page += ".SH EXIT STATUS\n" + "".join(tagged(roff(e["status"]), e["meaning"]) for e in command["exit_status"])
    page += ".PP\nAll other statuses are listed in\n.BR muster (1).\n"
    return page + examples(command) + see_also(name, manual)


def first_page(manual, date):
    page = heading("muster", 1, date, manual["version"], "connect the processes of a job under any launcher")
    page += ".SH SYNOPSIS\n.B muster\n.I COMMAND\n.RI [ OPTION ...]\n.RB [ \\-\\-\n.I CMD\n.RI [ ARG ...]]\n"
    page += ".SH DESCRIPTION\nmuster connects the processes of a job under any launcher, and names the rank and node that prevent it.\n"
    group = None
    page += ".SH COMMANDS\n"
    for command in manual["commands"]:
        if command["group"] != group:
            group = command["group"]
            page += f".SS {roff(group)}\n"
        page += tagged(f".BR muster\\-{command['name']} (1)", command["summary"])
    page += ".SH OPTIONS\n" + "".join(map(option_entry, manual["options"]))
    page += ".SH EXIT STATUS\n" + "".join(tagged(roff(e["status"]), e["meaning"]) for e in manual["exit_statuses"])
    page += (
        ".SH ENVIRONMENT\n"
        + tagged("\\fBMUSTER_CONFIG\\fR", "The file of the configuration, if no --config names one.")
        + tagged("\\fBMUSTER_SECRET\\fR", "The secret of the job, for rendezvous.auth: secret.")
        + tagged("\\fBNO_COLOR\\fR", "If it is set and not empty, help pages have no colour.")
        + ".PP\nEvery key of the configuration has a variable of its own:\n.BR muster.yaml (5).\n"
    )
    return page + see_also("muster", manual)


def key_entry(key):
    kind = "one of " + ", ".join(key["choices"]) if key["choices"] else key["type"]
    if key["minimum"]:
        kind += f", at least {key['minimum']}"
    lines = [f".TP\n\\fB{roff(key['path'])}\\fR\n{roff(key['text'][0].upper() + key['text'][1:])}."]
    for special in key["special_words"]:
        lines.append(
            roff(f"{special['word']}: refused; {special['refusal']}." if special["refusal"] else f"{special['word']} is another name for {special['means']}.")
        )
    lines.append(f".br\nType: {roff(kind)}. Default: {roff(key['default'])}.")
    if key["variable"]:
        lines.append(f".br\nVariable: {roff(key['variable'])}.")
    if key["group_wide"]:
        lines.append("All ranks must have the same value.")
    return "\n".join(lines) + "\n"


def configuration_page(manual, date):
    page = heading("muster.yaml", 5, date, manual["version"], "configuration of muster")
    page += ".SH DESCRIPTION\n" + paragraphs(
        "muster works without a configuration. A value comes from --set KEY=VALUE, else from the environment variable of the key, else from "
        "the file that --config or MUSTER_CONFIG names, else it is the default. muster config --explain prints every value with its origin."
        "\n\nA file is YAML; a key with a dot is a key in a section. Durations are written 500ms, 30s, 10m or 16h40m; a bare number is "
        "seconds. An unknown key is an error."
    )
    page += "\n".join([".PP", ".RS 4", ".nf", "timeouts:", "  rendezvous: 2m", "run:", "  label: true", ".fi", ".RE", ""])
    section = None
    for key in manual["keys"]:
        this = key["path"].partition(".")[0] if "." in key["path"] else "Top level"
        if this != section:
            section = this
            page += f".SH {roff(section.upper())}\n"
        page += key_entry(key)
    page += ".SH PLACEHOLDERS\nIn the values of run.env and run.expect; $${ is ${ itself.\n"
    page += "".join(tagged("\\fB" + roff("${" + p["name"] + "}") + "\\fR", p["text"]) for p in manual["placeholders"])
    return page + see_also("muster.yaml", manual)


# Completions

BASH = """# bash completion for muster; generated
_muster() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} command=${{COMP_WORDS[1]-}} words='' i
  if [[ $COMP_CWORD -eq 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W '{commands} {options}' -- "$word")
    return
  fi
  # What follows -- is the command line of another program.
  for ((i = 2; i < COMP_CWORD; i++)); do
    [[ ${{COMP_WORDS[i]}} == -- ]] || continue
    if ((i + 1 == COMP_CWORD)); then mapfile -t COMPREPLY < <(compgen -c -- "$word"); fi
    compopt -o default
    return
  done
  # "=" is a word of its own.
  if [[ $word == = ]]; then word=''; fi
  if [[ $previous == = ]]; then previous=${{COMP_WORDS[COMP_CWORD - 2]}}; fi
  case "$command $previous" in
{values}
  esac
  if [[ -z $words ]]; then
    case $command in
{cases}
    esac
    if [[ $word != -* ]]; then
      compopt -o default
      case $command in
{positionals}
        *) return ;;
      esac
    fi
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}}
complete -F _muster muster
"""


def positional_words(command, manual):
    if command["name"] == "help":
        return [other["name"] for other in manual["commands"]] + ["exit-status", "keys"] + [key["path"] for key in manual["keys"]]
    return [word for positional in command["positionals"] for word in re.findall(r"^(\w+) or (\w+);", positional["text"])[:1] for word in word]


def bash(manual):
    values, cases, positionals = [], [], []
    for command in manual["commands"]:
        name = command["name"]
        for option in all_options(command):
            patterns = " | ".join(f"'{name} {spelled}'" for spelled in option["names"])
            if words_of(option):
                values.append(f"    {patterns}) words='{' '.join(words_of(option))}' ;;")
            elif takes(option, "DIR"):
                values.append(f"    {patterns}) compopt -o dirnames && return ;;")
            elif option["value"]:
                values.append(f"    {patterns}) compopt -o default && return ;;")
        cases.append(f"      {name}) words='{' '.join(spelled for option in all_options(command) for spelled in option['names'])}' ;;")
        if positional_words(command, manual):
            positionals.append(f"        {name}) words='{' '.join(positional_words(command, manual))}' ;;")
    return BASH.format(
        commands=" ".join(command["name"] for command in manual["commands"]),
        options=" ".join(spelled for option in manual["options"] for spelled in option["names"]),
        values="\n".join(values),
        cases="\n".join(cases),
        positionals="\n".join(positionals),
    )


def zsh_text(text):
    return re.sub(r"([\[\]:\\])", r"\\\1", text).replace("'", "'\\''")


def zsh_option(option):
    names = option["names"]
    exclude = "" if option["repeatable"] else f"'({' '.join(names)})'"
    spelled = "{" + ",".join(names) + "}" if len(names) > 1 else names[0]
    if not option["value"]:
        return f"{exclude}{spelled}'[{zsh_text(option['text'])}]'"
    action = "_files" if takes(option, "FILE") else "_files -/" if takes(option, "DIR") else f"({' '.join(words_of(option))})" if words_of(option) else " "
    star = "'*'" if option["repeatable"] else ""
    return f"{exclude}{star}{spelled}'[{zsh_text(option['text'])}]:{zsh_text(option['value'])}:{action}'"


def zsh(manual):
    cases = ""
    for command in manual["commands"]:
        specs = [zsh_option(option) for option in all_options(command)]
        if has_program(command):
            specs.append("'*::program:_normal'")
        elif positional_words(command, manual):
            files = "'1:directory:_files -/' 2" if command["name"] == "journal" else "1"
            specs.append(f"{files}':{command['positionals'][-1]['value']}:({' '.join(positional_words(command, manual))})'".replace("' 2'", "' '2"))
        cases += f"    {command['name']})\n      _arguments -S : \\\n        " + " \\\n        ".join(specs) + "\n      ;;\n"
    commands = "\n".join(f"    '{command['name']}:{zsh_text(command['summary'])}'" for command in manual["commands"])
    options = " ".join(spelled for option in manual["options"] for spelled in option["names"])
    return (
        "#compdef muster\n_muster() {\n  local -a known=(\n" + commands + "\n  )\n"
        "  if (( CURRENT == 2 )); then\n"
        f"    if [[ $PREFIX == -* ]]; then compadd -- {options}; else _describe command known; fi\n    return\n  fi\n"
        "  # What follows -- is the command line of another program.\n"
        "  local at=$words[(i)--]\n"
        "  if (( at < CURRENT )); then\n    shift $at words\n    (( CURRENT -= at ))\n    _normal\n    return\n  fi\n"
        "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n" + cases + "  esac\n}\n_muster \"$@\"\n"
    )


FISH = """# fish completion for muster; generated
function __muster_behind
    contains -- -- (commandline -opc)
end
function __muster_first
    test (count (commandline -opc)) -eq 1
end
function __muster_in
    set -l words (commandline -opc)
    test (count $words) -gt 1; and not contains -- -- $words; and contains -- $words[2] $argv
end
# What follows -- is the command line of another program.
function __muster_program
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words)
    set -e words[1..$at]
    complete -C (string join -- ' ' (string escape -- $words) (commandline -ct))
end
complete -c muster -f
complete -c muster -n __muster_behind -a '(__muster_program)'
"""


def fish_text(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_option(option, condition):
    names = "".join((" -l " if name.startswith("--") else " -s ") + name.lstrip("-") for name in option["names"])
    kind = ""
    if words_of(option):
        kind = f" -x -a '{' '.join(words_of(option))}'"
    elif takes(option, "DIR"):
        kind = " -x -a '(__fish_complete_directories)'"
    elif option["value"]:
        kind = " -r -F"
    return f"complete -c muster -n {condition}{names}{kind} -d {fish_text(option['text'])}\n"


def fish(manual):
    text = FISH
    for command in manual["commands"]:
        text += f"complete -c muster -n __muster_first -a {command['name']} -d {fish_text(command['summary'])}\n"
    for option in manual["options"]:
        text += fish_option(option, "__muster_first")
    for command in manual["commands"]:
        condition = f"'__muster_in {command['name']}'"
        for option in all_options(command):
            text += fish_option(option, condition)
        if positional_words(command, manual):
            text += f"complete -c muster -n {condition} -a '{' '.join(positional_words(command, manual))}'\n"
        if command["name"] == "journal":
            text += f"complete -c muster -n {condition} -a '(__fish_complete_directories)'\n"
    return text


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read_manual(source):
    if source.endswith(".json"):
        with open(source, encoding="utf-8") as file:
            return json.load(file)
    return json.loads(subprocess.run([source, "help", "--json"], stdout=subprocess.PIPE, text=True, check=True).stdout)


def main():
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    source, share, date = sys.argv[1:]
    manual = read_manual(source)
    write(f"{share}/man/man1/muster.1", first_page(manual, date))
    for command in manual["commands"]:
        write(f"{share}/man/man1/muster-{command['name']}.1", command_page(command, manual, date))
    write(f"{share}/man/man5/muster.yaml.5", configuration_page(manual, date))
    write(f"{share}/bash-completion/completions/muster", bash(manual))
    write(f"{share}/zsh/site-functions/_muster", zsh(manual))
    write(f"{share}/fish/vendor_completions.d/muster.fish", fish(manual))


if __name__ == "__main__":
    main()
