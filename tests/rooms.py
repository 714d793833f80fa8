"""Which room includes which, in bootstrap/ and comm/ (a room is a folder), and whether their maps are true."""

import os
import re

# Sources in a room; one with a file for each launcher grows with them.
MOST_SOURCES = 25
GROWS = "bootstrap/resolve/launchers"
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
    """Rooms that include each other, in order; empty where none do."""
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


def crowded(texts):
    """{room: how many sources} where that is too many."""
    counts = {}
    for name in texts:
        counts[os.path.dirname(name)] = counts.get(os.path.dirname(name), 0) + 1
    return {room: count for room, count in counts.items() if count > MOST_SOURCES and room != GROWS}


ANSWER = re.compile(r"^\| [^|]+\?[^|]* \| (.+) \|$", re.M)
QUOTED = re.compile(r"`([^`]+)`")


def lost(text, read):
    """What a map's answers name and the sources do not have; read(path): the text of a file beside the map, or None."""
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
