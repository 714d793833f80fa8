"""The warnings that all of muster's own code is compiled with."""

MUSTER_COPTS = [
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wshadow",
    "-Wconversion",
    "-Wnon-virtual-dtor",
    "-Wold-style-cast",
    "-Woverloaded-virtual",
    "-Wimplicit-fallthrough",
    "-Wunused",
    "-Werror",
    # GCC 12 reports false positives of these inside libstdc++ when it optimises.
    "-Wno-maybe-uninitialized",
    "-Wno-restrict",
    "-Wno-missing-field-initializers",
]

# Not with --config=odr: an optimiser removes types before they are compared.
SIZE_COPTS = select({
    "//deploy/bazel:odr": [],
    "//conditions:default": ["-Os"],
})
