"""Finds out whether this machine has a linker that places sections in a given order.

The repository @linker has found.bzl with

    ORDERS_SECTIONS    whether the compiler links with gold; without it the functions stay in the order of the sources
"""

def _linker_repository_impl(ctx):
    ctx.file("main.c", "int main(void) { return 0; }\n")
    ctx.file("order.lds", ".text.main\n")
    compiler = ctx.os.environ.get("CC") or "gcc"
    linked = ctx.execute([compiler, "-fuse-ld=gold", "-Wl,--section-ordering-file=order.lds", "main.c", "-o", "main"])
    ctx.file("BUILD.bazel", "")
    ctx.file("found.bzl", "ORDERS_SECTIONS = %s\n" % (linked.return_code == 0))

linker_repository = repository_rule(
    implementation = _linker_repository_impl,
    # Looked at again by each new server, not only when this file changes.
    local = True,
    configure = True,
    environ = ["CC"],
)
