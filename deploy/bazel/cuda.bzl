"""Kernels for NVIDIA's GPUs, checked in as text beside their sources (.cu), and the compiler of that text.

A program holds the checked-in text (.ptx), which a GPU's driver compiles: building muster needs no CUDA, and every build holds
the same text. Where nvcc is (CUDA_HOME, /usr/local/cuda, PATH), the sources are compiled too, and
//tests/deploy:kernels_test compares. The repository @cuda has found.bzl with

    NVCC       the path of nvcc; empty without a CUDA toolkit
"""

load("//deploy/bazel:rules.bzl", "muster_library")

def _find(ctx):
    home = ctx.os.environ.get("CUDA_HOME")
    for root in [home] if home else ["/usr/local/cuda"]:
        if ctx.path(root + "/bin/nvcc").exists:
            return root + "/bin/nvcc"
    return "" if home else str(ctx.which("nvcc") or "")

def _cuda_repository_impl(ctx):
    nvcc = _find(ctx)
    if not nvcc:
        # buildifier: disable=print
        print("no nvcc in CUDA_HOME, /usr/local/cuda or PATH: kernels are not compiled from their .cu files; " +
              "the checked-in .ptx files are built, and //tests/deploy:kernels_test is left out")
    ctx.file("BUILD.bazel", "")
    ctx.file("found.bzl", "NVCC = %r\n" % nvcc)

cuda_repository = repository_rule(
    implementation = _cuda_repository_impl,
    local = True,
    configure = True,
    environ = ["CUDA_HOME", "PATH"],
)

# The version and the target are the least that the kernels need: drivers from CUDA 10 on take them.
_COMPILE = """{nvcc} -ptx -arch=compute_75 -o $@.whole $< &&
    {{ printf '// Compiled from %s by %s\\n' $$(basename $<) "$$({nvcc} --version | sed -n 's/.*release \\([0-9.]*\\).*/nvcc \\1/p')" &&
      sed -e '/^\\/\\//d' -e 's/^[.]version .*/.version 6.3/' -e 's/^[.]target .*/.target sm_50/' $@.whole; }} >$@ &&
    rm $@.whole"""

def cuda_kernels(name, source, text, symbol, nvcc):
    """A library with the text of kernels as `const char* const SYMBOL` of a namespace.

    Args:
      name: of the library. NAME_compiled is the text that this machine's nvcc makes of the source.
      source: the .cu file.
      text: the checked-in .ptx file.
      symbol: with its namespace, as "muster::check::kKernels".
      nvcc: NVCC of @cuda//:found.bzl.
    """
    namespace, constant = symbol.rsplit("::", 1)
    native.genrule(
        name = name + "_cc",
        srcs = [text],
        outs = [name + "_text.cc"],
        cmd = ("{{ echo 'namespace {ns} {{ extern const char* const {c}; const char* const {c} = R\"ptx(' && cat $< && " +
               "echo ')ptx\"; }}'; }} >$@").format(ns = namespace, c = constant),
    )
    muster_library(
        name = name,
        srcs = [name + "_text.cc"],
        visibility = ["//visibility:private"],
    )
    native.filegroup(
        name = name + "_checked_in",
        srcs = [text],
        visibility = ["//tests/deploy:__pkg__"],
    )
    native.genrule(
        name = name + "_compiled",
        srcs = [source],
        outs = [name + "_compiled.ptx"],
        cmd = _COMPILE.format(nvcc = nvcc or "/nonexistent/nvcc"),
        tags = [] if nvcc else ["manual"],
        visibility = ["//tests/deploy:__pkg__"],
    )
