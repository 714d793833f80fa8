"""Which room includes which, in bootstrap/ and comm/ (a room is a folder), whether their maps are true, and crowded folders."""

import os
import re

# Sources in a room of C++, one with a file for each launcher grows with them; sources of any kind in any folder.
MOST_IN_ROOM = 25
GROWS = "bootstrap/resolve/launchers"
MOST_IN_FOLDER = 30
INCLUDE = re.compile(r'^#include "((?:bootstrap|comm)/[^"]+)"', re.M)


def users(texts):
    """{room: {another that it includes: a file of it that does}}"""
    graph = {}
    for name, text in texts.items():
        room = os.path.dirname(name)
        for included in INCLUDE.findall(text):
            other = os.path.dirname(included)
            if other != room:
                graph.setdefault(room, {}).setdefault(other, name)
    return graph


def cycle(graph):
    """Rooms that include each other, in order; empty if none do."""
    done, path = set(), []

    def visit(room):
        if room in path:
            return path[path.index(room) :] + [room]
        if room in done:
            return []
        path.append(room)
        for other in sorted(graph.get(room, ())):
            found = visit(other)
            if found:
                return found
        path.pop()
        done.add(room)
        return []

    for room in sorted(graph):
        found = visit(room)
        if found:
            return found
    return []


def is_source(name):
    """Written as code; a file without a suffix is a script."""
    base = os.path.basename(name)
    return "." not in base or base.endswith((".bzl", ".c", ".cc", ".h", ".py", ".sh"))


def crowded(everything):
    """{folder: how many sources} if that is too many."""
    folders, rooms = {}, {}
    for name in filter(is_source, everything):
        folder = os.path.dirname(name)
        folders[folder] = folders.get(folder, 0) + 1
        if name.startswith(("bootstrap/", "comm/")) and name.endswith((".cc", ".h")) and folder != GROWS:
            rooms[folder] = rooms.get(folder, 0) + 1
    found = {folder: count for folder, count in folders.items() if count > MOST_IN_FOLDER}
    return found | {room: count for room, count in rooms.items() if count > MOST_IN_ROOM}


ANSWER = re.compile(r"^\| [^|]+\?[^|]* \| (.+) \|$", re.M)
QUOTED = re.compile(r"`([^`]+)`")


def lost(text, read):
    """Names in a map's answers that the sources do not have; read(path): the text of a file beside the map, or None."""
    found = []
    for answer in ANSWER.findall(text):
        path, source = None, None
        for name in QUOTED.findall(answer):
            if "/" in name or "." in name:
                path, source = name, read(name)
                if source is None:
                    found.append(f"{path} is not there")
            elif source is not None and not re.search(rf"\b{re.escape(name.rsplit('::', 1)[-1])}\b", source):
                found.append(f"{path} has no {name}")
    return found


TARGET = re.compile(r'^\[?(?!alias)\w+\(\n    name = "([^"]+)",\n((?:.*\n)*?)^\)', re.M)
LIST = re.compile(r"(\w+) = (?:glob\(\[[^\]]*\]\) \+ )?\[([^\]]*)\]")


def label(folder, name):
    """As Bazel shortens it."""
    return f"//{folder}" if name == os.path.basename(folder) else f"//{folder}:{name}"


ALIAS = re.compile(r'^alias\(\n    name = "([^"]+)",\n    actual = (.*),\n\)', re.M)


def targets(builds, texts):
    """{label: (folder, sources, headers, dependencies)} of {folder: text of its BUILD file} and the sources."""
    found, means = {}, {}
    for folder, text in builds.items():
        for name, actual in ALIAS.findall(text):
            means[label(folder, name)] = {label(folder, each) for each in re.findall(r'":([^"]+)"', actual)}
    for folder, text in builds.items():
        for name, body in TARGET.findall(text):
            lists = {key: re.findall(r'"([^"]+)"', value) for key, value in LIST.findall(body)}
            needs = {label(folder, need[1:]) if need.startswith(":") else need for need in lists.get("deps", [])}
            for need in needs & set(means):
                needs |= means[need]
            if not {"srcs", "hdrs"} & set(lists):  # as muster_library
                of_room = [os.path.basename(file) for file in texts if os.path.dirname(file) == folder]
                own = [file for file in of_room if name in (os.path.basename(folder), os.path.splitext(file)[0])]
                lists |= {"srcs": [file for file in own if file.endswith(".cc")], "hdrs": [file for file in own if file.endswith(".h")]}
            found[label(folder, name)] = (folder, lists.get("srcs", []), lists.get("hdrs", []), needs)
    return found


def undeclared(builds, texts):
    """[(source, header, target)]: includes that compile only because another dependency has that target."""
    found, known = [], targets(builds, texts)
    owners = {}
    for name, (folder, _, headers, _) in known.items():
        for header in headers:
            owners.setdefault(f"{folder}/{header}", set()).add(name)
    for name, (folder, sources, headers, needs) in known.items():
        for source in sources + headers:
            for header in INCLUDE.findall(texts.get(f"{folder}/{source}", "")):
                if header in owners and not owners[header] & {name, *needs}:
                    found.append((f"{folder}/{source}", header, min(owners[header])))
    return found
