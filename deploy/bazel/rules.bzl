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
