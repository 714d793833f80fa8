"""Which room includes which, in bootstrap/ and comm/: a room is a folder."""

import os
import re

MOST_SOURCES = 30
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
    return {room: count for room, count in counts.items() if count > MOST_SOURCES}
