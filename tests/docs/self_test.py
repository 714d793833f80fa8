"""Do the parts of `run` find what they are for?"""

import pathlib
import types

import blocks
import links
import options
import protocols
import questions
import transcript
import words

PAGE = """
<!-- run: exit 3, until done -->
```console
$ echo one \\
> two
one two
$ exit 3
```

```sh
unmarked
```

<!-- not run -->
```sh
true
```

1. In a list:

    <!-- file: a.yaml -->
    ```yaml
    a: 1
      b: 2
    ```
<!-- cluster: power gpu01 off -->
<!-- cluster: melt gpu01 -->
```
no language
```
<!-- run -->
```sh
sbatch deploy/sbatch/train.sbatch
```
<!-- not run: needs a clone -->
```sh
deploy/release/all
```
"""
# Shown, written, and the beginning of the difference.
TRANSCRIPTS = [
    (["ended after 1.5 s", "at 12:00:01"], ["ended after 300 ms", "at 13:10:00"], ""),
    (["in Barrier  12 s"], ["in Barrier  9.7 s to 9.8 s"], ""),
    (["rank 1", "rank 0"], ["rank 0", "rank 1"], ""),
    (["first", "...", "last"], ["first", "x", "y", "last"], ""),
    (["srun: error: gpu01: tasks 0-1: Exited with exit code 1"], ["srun: error: gpu01: task 0: Exited with exit code 1"] * 2, ""),
    (["a"], ["a", "12:00:06 muster: rank 0 on gpu01: waiting 5.0 s: 1/2 ranks"], ""),
    (["rank 2 failed"], ["rank 3 failed"], "shown, but not written: rank 2 failed (nearest: rank 3 failed)"),
    (["a", "..."], ["b"], "shown, but not written: a"),
    (["a"], ["a", "b"], "written, but not shown: b"),
    (["a", "a"], ["a"], "shown, but not written: a"),
    (["a"], ["a", "a"], "written, but not shown: a"),
    (["12 items"], ["11 items"], "shown, but not written: 12"),
]


def of_blocks():
    found = blocks.blocks(PAGE, pathlib.Path())
    yield found[0].exit_code == 3 and found[0].until == "done", "exit and until"
    yield [command.text for command in blocks.commands(found[0])] == ["echo one \\\ntwo", "exit 3"], "commands"
    yield blocks.commands(found[0])[0].output == ["one two"], "output"
    yield blocks.commands(found[0])[0].line == 6, "the line of an output"
    yield found[3].text == "a: 1\n  b: 2" and found[3].value == "a.yaml", "an indented file"
    wrong = [" ".join(blocks.problems(block)) for block in found]
    yield wrong[0] == wrong[3] == wrong[4] == wrong[8] == "", "what is right is refused"
    expected = ("without a mark", "without a reason", "none of", "without a language", "without a clone has no deploy/sbatch/train.sbatch")
    yield all(words in what for words, what in zip(expected, (wrong[1], wrong[2], wrong[5], wrong[6], wrong[7]))), "what is wrong is not found"


def of_transcripts():
    for shown, actual, beginning in TRANSCRIPTS:
        got = transcript.difference(shown, actual)
        yield got.startswith(beginning) if beginning else got == "", f"{shown} and {actual}: '{got}'"


COMMANDS = """
`muster run --good`, `muster run --bad -- prog --other`, `srun muster walk --far`, muster rests

```console
$ muster run --worse
muster said --nothing
```
"""
SETTINGS = """
`--set a.b=1 --set a.c=2`, `--set KEY=VALUE`, `--set a.d`, `--set 'a.e=x y'`

<!-- run -->
```console
$ muster run --set a.f=3 -- true
```

<!-- run: exit 78 -->
```console
$ muster run --set a.g=4 -- true
```
"""


def of_settings():
    pages = [types.SimpleNamespace(path=path, text=SETTINGS, blocks=blocks.blocks(SETTINGS, pathlib.Path())) for path in ("page", options.REFUSED)]
    found = [sentence.partition(": because")[0] for sentence in options.refused(pages, lambda together: "because")]
    wanted = ["--set a.b=1 --set a.c=2", "--set a.e=x y", "--set a.f=3"]
    yield found == [f"page: muster refuses {each}" for each in wanted], f"settings: {found}"


def of_options():
    page = types.SimpleNamespace(path="page", text=COMMANDS, blocks=blocks.blocks(COMMANDS, pathlib.Path()))
    found = list(options.problems([page], {"run": {"--good"}}.get))
    wanted = ["muster run has no option --bad", "muster run has no option --worse", "there is no command muster walk"]
    yield sorted(found) == [f"page: {each}" for each in wanted], f"commands and options: {found}"


def problems():
    return [what for right, what in [*of_blocks(), *of_transcripts(), *of_options(), *of_settings()] if not right] + words.self_test() + questions.self_test() + links.self_test() + protocols.self_test()
