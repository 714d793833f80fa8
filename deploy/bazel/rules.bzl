"""cc rules with the project's warnings: use these in every BUILD file."""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")
load("//deploy/bazel:copts.bzl", "MUSTER_COPTS")

def muster_library(name, copts = [], **kwargs):
    cc_library(name = name, copts = MUSTER_COPTS + copts, **kwargs)

def muster_binary(name, copts = [], **kwargs):
    cc_binary(name = name, copts = MUSTER_COPTS + copts, **kwargs)

def muster_test(name, copts = [], deps = [], **kwargs):
    """A gtest program; gmock's main prints one case a line."""
    cc_test(
        name = name,
        copts = MUSTER_COPTS + copts,
        deps = deps + ["@system//:gtest_main"],
        **kwargs
    )

def muster_fuzz_target(name, srcs, seeds = [], deps = [], executions = 20000, linkopts = [], **kwargs):
    """A fuzz target (tests/fuzz/fuzz_target.h): a short test, and with --config=fuzz a libFuzzer program.

    Args:
      name: of the target.
      srcs: define TheTarget().
      seeds: files or filegroups; seeds/NAME.hex and what the target builds itself come on top.
      deps: what it fuzzes.
      executions: mutations that the short test tries.
      linkopts: as in cc_test.
      **kwargs: as in cc_test.
    """
    seeds = seeds + native.glob(["seeds/%s.hex" % name])
    cc_test(
        name = name,
        size = "medium",
        srcs = srcs,
        args = ["--executions=%d" % executions] + ["$(rootpaths %s)" % seed for seed in seeds],
        copts = MUSTER_COPTS,
        data = seeds,
        linkopts = linkopts + select({
            "//deploy/bazel:libfuzzer": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        tags = ["fuzz"],
        deps = deps + ["//tests/fuzz:fuzz_target"] + select({
            "//deploy/bazel:libfuzzer": ["//tests/fuzz:libfuzzer_driver"],
            "//conditions:default": ["//tests/fuzz:fuzz_driver"],
        }),
        **kwargs
    )
