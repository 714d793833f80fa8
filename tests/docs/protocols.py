"""The table of protocols and releases: its first row is that of this source."""

import re

PAGE = "faq/index.md"
VERSIONS = (("comm/auth/handshake/handshake_messages.h", r"kProtocolVersion = (\d+);"), ("comm/base/version.h", r'kVersion = "([^"]+)";'))
TABLE = re.compile(r"^\| protocol \| release \|\n\| --- \| --- \|\n\| ([^|]+) \| ([^|]+) \|$", re.M)


def problems(top):
    """What is wrong with the page of the source at `top`."""
    ours = [re.search(pattern, (top / header).read_text(encoding="utf-8")) for header, pattern in VERSIONS]
    if None in ours:
        return ["the headers have no kProtocolVersion or kVersion"]
    return of_page((top / "docs/pages" / PAGE).read_text(encoding="utf-8"), *(found.group(1) for found in ours))


def of_page(text, protocol, release):
    row = TABLE.search(text)
    if not row or row.groups() != (protocol, release):
        return [f"{PAGE}: the first row of the protocols is {row.groups() if row else 'missing'}, not {(protocol, release)}"]
    example = f"this rank {protocol}`"
    return [] if example in text else [f"{PAGE}: the example lacks {example}"]


def self_test():
    page = "(`this rank 6`)\n\n| protocol | release |\n| --- | --- |\n| 6 | 0.1.0 |\n"
    found = [len(of_page(page, *ours)) for ours in (("6", "0.1.0"), ("7", "0.1.0"), ("6", "0.2.0"))]
    missing = len(of_page("", "6", "0.1.0")) + len(of_page(page.replace("rank 6", "rank 5"), "6", "0.1.0"))
    return [] if (found, missing) == ([0, 1, 1], 2) else [f"protocols: {found}, {missing}"]
