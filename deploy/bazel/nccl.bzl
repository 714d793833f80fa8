"""Finds the headers of NCCL and of the CUDA runtime on this machine, and their libraries for tests.

What is found becomes the repository @nccl: the library //:headers, the files //:libraries, and found.bzl with

    NCCL_HEADERS    whether nccl.h can be compiled; without it muster is built without the NCCL backend

Looked for, in this order: NCCL_HOME, CUDA_HOME, /usr/local/cuda, the compiler's own search path, PyTorch's packages
(nvidia-nccl-cu13 or -cu12) in VIRTUAL_ENV, CONDA_PREFIX and where python3 looks, and what deploy/nccl/get has fetched.
NCCL_HOME and CUDA_HOME are honoured or the build fails: nothing else is taken in their place.
"""

_BUILD = """package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = glob(["nccl/*.h", "cuda/*.h", "cuda/*.hpp", "cuda/crt/**", "cuda/nv/**"]),
    includes = {includes},
)

filegroup(
    name = "libraries",
    srcs = glob(["lib/*"]),
)
"""

# site-packages of the Python that a user would start here.
_SITE_PACKAGES = "import site; print('\\n'.join(site.getsitepackages() + [site.getusersitepackages()]))"

def _site_packages(ctx):
    folders = []
    for name in ["VIRTUAL_ENV", "CONDA_PREFIX"]:
        prefix = ctx.os.environ.get(name)
        if prefix and ctx.path(prefix + "/lib").exists:
            folders += [
                str(entry) + "/site-packages"
                for entry in ctx.path(prefix + "/lib").readdir()
                if entry.basename.startswith("python3")
            ]
    python = ctx.which("python3")
    if python:
        folders += ctx.execute([python, "-c", _SITE_PACKAGES]).stdout.split("\n")
    folders += ctx.execute([ctx.path(Label("//deploy/nccl:get")), "--where"]).stdout.split("\n")
    return [folder for folder in folders if folder.startswith("/")]

# (include, lib) of each installation that may be there, best first; "" stands for the compiler's own path.
def _nccl_places(ctx, packages):
    home = ctx.os.environ.get("NCCL_HOME")
    if home:
        return [(home + "/include", home + "/lib")]
    places = [(root + "/include", root + "/lib64") for root in _cuda_roots(ctx)]
    places.append(("", "/usr/lib/x86_64-linux-gnu"))
    return places + [(p + "/nvidia/nccl/include", p + "/nvidia/nccl/lib") for p in packages]

def _cuda_places(ctx, packages):
    places = [(root + "/include", root + "/lib64") for root in _cuda_roots(ctx)]
    if ctx.os.environ.get("CUDA_HOME"):
        return places
    places.append(("", "/usr/lib/x86_64-linux-gnu"))
    for package in packages:
        places.append((package + "/nvidia/cu13/include", package + "/nvidia/cu13/lib"))
        places.append((package + "/nvidia/cuda_runtime/include", package + "/nvidia/cuda_runtime/lib"))
    return places

def _cuda_roots(ctx):
    home = ctx.os.environ.get("CUDA_HOME")
    return [home] if home else ["/usr/local/cuda"]

def _has(ctx, include, header):
    return ctx.path((include or "/usr/include") + "/" + header).exists

def _compiles(ctx, includes):
    ctx.file("probe.cc", "#include <nccl.h>\nncclConfig_t config = NCCL_CONFIG_INITIALIZER;\n")
    flags = []
    for include in includes:
        if include:
            flags += ["-isystem", include]
    compiler = ctx.os.environ.get("CC") or "g++"
    result = ctx.execute([compiler, "-xc++", "-fsyntax-only"] + flags + ["probe.cc"])
    ctx.delete("probe.cc")
    return result

def _choose(ctx):
    """The first pair of places whose headers compile, and what the compiler said to the others."""
    packages = _site_packages(ctx)
    said = []
    for nccl in _nccl_places(ctx, packages):
        if not _has(ctx, nccl[0], "nccl.h"):
            continue
        for cuda in _cuda_places(ctx, packages):
            if not _has(ctx, cuda[0], "cuda_runtime_api.h"):
                continue
            result = _compiles(ctx, [nccl[0], cuda[0]])
            if result.return_code == 0:
                return nccl, cuda, said
            said.append("%s with %s: %s" % (nccl[0], cuda[0], result.stderr.strip().split("\n")[0]))
    return None, None, said

def _link_libraries(ctx, folder, prefix):
    if not ctx.path(folder).exists:
        return
    for entry in ctx.path(folder).readdir():
        if entry.basename.startswith(prefix) and not ctx.path("lib/" + entry.basename).exists:
            ctx.symlink(entry, "lib/" + entry.basename)

def _nccl_repository_impl(ctx):
    nccl, cuda, said = _choose(ctx)
    asked = [name for name in ["NCCL_HOME", "CUDA_HOME"] if ctx.os.environ.get(name)]
    if not nccl and asked:
        fail("no usable nccl.h and CUDA runtime headers with %s: %s" % (
            ", ".join(["%s=%s" % (name, ctx.os.environ[name]) for name in asked]),
            "; ".join(said) or "nccl.h or cuda_runtime_api.h is not there",
        ))
    includes = []
    if nccl:
        for name, place in [("nccl", nccl), ("cuda", cuda)]:
            if place[0]:
                ctx.symlink(place[0], name)
                includes.append(name)
        _link_libraries(ctx, nccl[1], "libnccl.so.")
        _link_libraries(ctx, cuda[1], "libcudart.so.")
    ctx.file("BUILD.bazel", _BUILD.format(includes = includes))
    ctx.file("found.bzl", "NCCL_HEADERS = %s\n" % bool(nccl))

nccl_repository = repository_rule(
    implementation = _nccl_repository_impl,
    # Looked at again by each new server, not only when this file changes.
    local = True,
    configure = True,
    environ = ["NCCL_HOME", "CUDA_HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "HOME", "XDG_CACHE_HOME", "CC"],
)
