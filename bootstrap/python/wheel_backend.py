"""What pip calls to make a wheel of this folder (PEP 517): the package as it lies here, libmuster.so included."""

import base64
import hashlib
import os
import platform
import re
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join("muster", "libmuster.so")
MISSING = f"""{LIBRARY} is not there, and without it the package is of no use. Make it and put it there:

    bazel build //bootstrap/c:libmuster.so
    cp bazel-bin/bootstrap/c/libmuster.so bootstrap/python/muster/
"""


def _project(key):
    with open(os.path.join(HERE, "pyproject.toml"), encoding="utf-8") as file:
        return re.search(rf'^{key} = "(.*)"$', file.read(), re.MULTILINE)[1]


def _files():
    folder = os.path.join(HERE, "muster")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py") or name == "libmuster.so":
            with open(os.path.join(folder, name), "rb") as file:
                yield f"muster/{name}", file.read()


def _metadata(tag):
    folder = f"muster-{_project('version')}.dist-info"
    yield f"{folder}/METADATA", (
        "Metadata-Version: 2.1\n"
        f"Name: {_project('name')}\n"
        f"Version: {_project('version')}\n"
        f"Summary: {_project('description')}\n"
        f"Requires-Python: {_project('requires-python')}\n"
    ).encode()
    yield f"{folder}/WHEEL", (
        f"Wheel-Version: 1.0\nGenerator: muster\nRoot-Is-Purelib: false\nTag: {tag}\n"
    ).encode()


def _hash(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """The name of the wheel that it writes."""
    if not os.path.exists(os.path.join(HERE, LIBRARY)):
        raise SystemExit(MISSING)
    tag = f"py3-none-linux_{platform.machine()}"
    name = f"muster-{_project('version')}-{tag}.whl"
    record = []
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in [*_files(), *_metadata(tag)]:
            wheel.writestr(path, content)
            record.append(f"{path},sha256={_hash(content)},{len(content)}\n")
        path = f"muster-{_project('version')}.dist-info/RECORD"
        wheel.writestr(path, "".join(record) + f"{path},,\n")
    return name
