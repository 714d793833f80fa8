"""Finds Slurm's headers and libslurm on this machine, for muster-slurm.

What is found becomes the repository @slurm: the library //:slurm, and found.bzl with

    SLURM_HEADERS    whether bootstrap/slurm/slurm_api.c compiles with them; without it muster-slurm is left out

Looked for: SLURM_HOME, else the compiler's own search path. SLURM_HOME is honoured or the build fails.
"""

_BUILD = """package(default_visibility = ["//visibility:public"])

cc_library(
    name = "slurm",
    hdrs = glob(["include/slurm/*.h"], allow_empty = True),
    includes = {includes},
    linkopts = {linkopts},
)
"""

def _compiles(ctx, include):
    flags = ["-isystem", include] if include else []
    source = ctx.path(Label("//:bootstrap/slurm/slurm_api.c"))
    top = str(source.dirname.dirname.dirname)
    compiler = ctx.os.environ.get("CC") or "gcc"
    return ctx.execute([compiler, "-fsyntax-only", "-Werror", "-I", top] + flags + [source])

def _slurm_repository_impl(ctx):
    home = ctx.os.environ.get("SLURM_HOME")
    result = _compiles(ctx, home + "/include" if home else "")
    found = result.return_code == 0
    if home and not found:
        fail("muster-slurm does not compile with SLURM_HOME=%s: %s" % (home, result.stderr.strip().split("\n")[0]))
    includes, linkopts = [], ["-lslurm"]
    if home:
        ctx.symlink(home + "/include", "include")
        includes = ["include"]
        linkopts = ["-L%s/lib" % home, "-Wl,-rpath,%s/lib" % home, "-lslurm"]
    ctx.file("BUILD.bazel", _BUILD.format(includes = includes, linkopts = linkopts))
    ctx.file("found.bzl", "SLURM_HEADERS = %s\n" % found)

slurm_repository = repository_rule(
    implementation = _slurm_repository_impl,
    # Looked at again by each new server, not only when this file changes.
    local = True,
    configure = True,
    environ = ["SLURM_HOME", "CC"],
)
