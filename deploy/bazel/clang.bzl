"""Finds out whether GCC's driver can leave a compilation to Clang, as clang.specs says.

Bazel 4.2 has one compiler for all targets; `-specs` among the options of a target makes it another one. The specs drop what
Clang does not know, take warnings as GCC has them, and have no sandbox's path in the list of headers.

The repository @clang has found.bzl with

    COMPILES_TESTS    whether it can; otherwise GCC compiles tests too
"""

def _clang_repository_impl(ctx):
    ctx.file("main.cc", "#include <version>\n#ifndef __clang__\n#error\n#endif\n")
    compiler = ctx.os.environ.get("CC") or "gcc"
    specs = str(ctx.path(Label("//deploy/bazel:clang.specs")))

    # A CC that is Clang refuses this option, which the specs remove.
    compiled = ctx.execute([compiler, "-specs=" + specs, "-fno-canonical-system-headers", "-c", "main.cc", "-o", "main.o"])
    ctx.file("BUILD.bazel", "")
    ctx.file("found.bzl", "COMPILES_TESTS = %s\n" % (compiled.return_code == 0))

clang_repository = repository_rule(
    implementation = _clang_repository_impl,
    # Looked at again by each new server, not only when this file changes.
    local = True,
    configure = True,
    environ = ["CC"],
)
