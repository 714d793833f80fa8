"""cc rules with the project's warnings: use these in every BUILD file."""

load("@linker//:found.bzl", "ORDERS_SECTIONS")
load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")
load("//deploy/bazel:copts.bzl", "MUSTER_COPTS", "SIZE_COPTS")

# Written by deploy/bazel/startup_order.
_ORDER = "//deploy/bazel:startup_order.lds"

# They act for each process, failure, question or item; what repeats for each call of a collective or byte is elsewhere.
_FOR_SIZE = [
    "bootstrap/",
    "comm/auth/",
    "comm/init/",
    "comm/log/",
    "comm/map/",
    "comm/nccl/",
    "comm/rendezvous/control/",
    "comm/rendezvous/discovery/",
    "comm/rendezvous/join/",
    "comm/rendezvous/link/",
    "comm/rendezvous/liveness/",
    "comm/rendezvous/messages/",
    "comm/rendezvous/pmi/",
    "comm/rendezvous/survey/",
    "comm/socket/probe/",
    "comm/system/",
]

def _for_size():
    return any([(native.package_name() + "/").startswith(room) for room in _FOR_SIZE])

def _prelude():
    """The precompiled header of this package's files, built with the same options: what measures is not a test."""
    package = native.package_name() + "/"
    measures = package.startswith(("tests/bench/", "tests/gpu/", "tests/simulation/"))
    if package.startswith("tests/") and not measures:
        return "tests_prelude"
    return "size_prelude" if _for_size() else "prelude"

def _audience(attributes):
    """What tests/ has is for tests alone."""
    if (native.package_name() + "/").startswith("tests/"):
        attributes.setdefault("testonly", True)
        attributes.setdefault("visibility", ["//tests:__subpackages__"])
    return attributes

def _copts(copts):
    # With a precompiled header GCC takes the level of optimisation that the header was compiled with.
    own = MUSTER_COPTS + (SIZE_COPTS if _for_size() else [])
    if copts:
        return own + copts
    beside = ["-include", "$(BINDIR)/deploy/bazel/%s.h" % _prelude()]
    ways = {
        "//deploy/bazel:precompiled": ["-include", "deploy/bazel/%s.h" % _prelude()],
        "//deploy/bazel:precompiled_by_clang": beside,
        "//conditions:default": [],
    }
    if _prelude() == "tests_prelude":
        ways["//deploy/bazel:tests_by_clang"] = ["-specs=deploy/bazel/clang.specs"] + beside
    return own + select(ways)

def _deps(deps, copts = []):
    if copts:
        return deps
    return deps + select({
        "//deploy/bazel:precompiled": ["//deploy/bazel:" + _prelude()],
        "//deploy/bazel:precompiled_by_clang": ["//deploy/bazel:" + _prelude()],
        "//conditions:default": [],
    })

def muster_library(name, srcs = None, hdrs = None, copts = [], deps = [], **kwargs):
    """A library: of all sources in the folder if it has the folder's name, else of NAME.cc and NAME.h or the one that exists."""
    if srcs == None and hdrs == None:
        files = "*" if native.package_name().endswith("/" + name) else name
        srcs = native.glob([files + ".cc"], allow_empty = True)
        hdrs = native.glob([files + ".h"], allow_empty = bool(srcs))
    cc_library(name = name, srcs = srcs, hdrs = hdrs, copts = _copts(copts), deps = _deps(deps, copts), **_audience(kwargs))

def muster_binary(name, srcs = None, copts = [], deps = [], linkopts = [], **kwargs):
    """A program, by default of NAME.cc, or shared library.

    What its start calls lies together: each 64 KiB of a file cost one page fault. Functions with the same code are one, except
    those whose address may be compared.
    """
    if ORDERS_SECTIONS:
        deps = deps + [_ORDER]
        linkopts = linkopts + ["-fuse-ld=gold", "-Wl,--icf=safe", "-Wl,--section-ordering-file=$(location %s)" % _ORDER]
    deps = deps + select({
        "//deploy/bazel:portable": ["//deploy/bazel:rounding"],
        "//conditions:default": [],
    })
    if srcs == None:
        srcs = [name + ".cc"]
    cc_binary(name = name, srcs = srcs, copts = _copts(copts), linkopts = linkopts, deps = _deps(deps, copts), **_audience(kwargs))

def muster_test(name, srcs = None, copts = [], deps = [], **kwargs):
    """A gtest program, by default of NAME.cc; gmock's main prints one case a line."""
    cc_test(
        name = name,
        srcs = srcs or [name + ".cc"],
        copts = _copts(copts),
        deps = _deps(deps + ["@system//:gtest_main"], copts),
        **_audience(kwargs)
    )

def muster_tests(names, **kwargs):
    """A muster_test of each name, which all have the same attributes."""
    for name in names:
        muster_test(name = name, **kwargs)

def muster_fuzz_target(name, srcs = None, seeds = [], deps = [], executions = 20000, linkopts = [], **kwargs):
    """A fuzz target (tests/fuzz/fuzz_target.h): a short test, and with --config=fuzz a libFuzzer program.

    Args:
      name: of the target.
      srcs: define TheTarget(); by default NAME.cc in a folder below.
      seeds: files or filegroups; seeds/NAME.hex and what the target builds itself come on top.
      deps: what it fuzzes.
      executions: mutations that the short test tries.
      linkopts: as in cc_test.
      **kwargs: as in cc_test.
    """
    seeds = seeds + native.glob(["seeds/%s.hex" % name])
    cc_test(
        name = name,
        srcs = srcs or native.glob(["**/%s.cc" % name]),
        args = ["--executions=%d" % executions] + ["$(rootpaths %s)" % seed for seed in seeds],
        copts = _copts([]),
        data = seeds,
        linkopts = linkopts + select({
            "//deploy/bazel:libfuzzer": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        tags = ["fuzz"],
        deps = _deps(deps + ["//tests/fuzz:fuzz_target"]) + select({
            "//deploy/bazel:libfuzzer": ["//tests/fuzz:libfuzzer_driver"],
            "//conditions:default": ["//tests/fuzz:fuzz_driver"],
        }),
        **kwargs
    )

def seeds_have_targets():
    """At the end of the package: a target that was renamed would silently lose its seeds."""
    for seed in native.glob(["seeds/*.hex"]):
        if not native.existing_rule(seed[len("seeds/"):-len(".hex")]):
            fail("%s: no fuzz target has its name" % seed)
