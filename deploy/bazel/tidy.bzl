"""clang-tidy as actions of Bazel: beside each source file of a target, so that only what has changed is looked at again.

    bazel build --config=tidy //...        (tests/lint --tidy)
"""

# What changes the meaning of the code; the warnings are the compiler's business.
_MEANING = ("-D", "-m")

# Looks less far ahead than the analyzer would by itself: in a fifth of the time.
_ANALYZER = ["-Xclang", "-analyzer-config", "-Xclang", "mode=shallow,max-nodes=10000"]

def _tidy_impl(target, ctx):
    # What has no deps is no C++ either: a genrule, a filegroup.
    if target.label.workspace_name or not hasattr(ctx.rule.attr, "srcs") or not hasattr(ctx.rule.attr, "deps"):
        return []
    files = [file for source in ctx.rule.attr.srcs for file in source.files.to_list()]
    own_headers = [file for headers in getattr(ctx.rule.attr, "hdrs", []) for file in headers.files.to_list()]
    for_tests = (target.label.package + "/").startswith("tests/")
    headers = depset(
        files + own_headers + ctx.files._checks + (ctx.files._checks_of_tests if for_tests else []),
        transitive = [dep[CcInfo].compilation_context.headers for dep in ctx.rule.attr.deps if CcInfo in dep],
    )
    system = depset(transitive = [
        dep[CcInfo].compilation_context.system_includes
        for dep in ctx.rule.attr.deps
        if CcInfo in dep
    ])
    reports = []
    for file in files:
        if file.extension != "cc" or not file.is_source:
            continue
        report = ctx.actions.declare_file("{}.{}.tidy".format(ctx.label.name, file.basename))
        arguments = ctx.actions.args()
        arguments.add_all([report, file, "-std=c++20", "-xc++", "-iquote", ".", "-iquote", ctx.bin_dir.path] + _ANALYZER)
        arguments.add_all(system, before_each = "-isystem")
        arguments.add_all([copt for copt in ctx.rule.attr.copts if copt.startswith(_MEANING)])
        ctx.actions.run_shell(
            mnemonic = "ClangTidy",
            progress_message = "clang-tidy {}".format(file.short_path),
            inputs = headers,
            outputs = [report],
            arguments = [arguments],
            # What it writes to stderr is how many warnings it has suppressed.
            command = """
report=$1 file=$2; shift 2
clang-tidy --quiet "$file" -- "$@" >"$report" 2>"$report.err" && exit
cat "$report"; grep -v ' warnings\\? \\(generated\\|treated as errors\\)' "$report.err"; exit 1
""",
        )
        reports.append(report)
    return [OutputGroupInfo(tidy = depset(reports))]

tidy = aspect(
    implementation = _tidy_impl,
    attrs = {
        "_checks": attr.label(allow_files = True, default = "//:.clang-tidy"),
        "_checks_of_tests": attr.label(allow_files = True, default = "//tests:.clang-tidy"),
    },
)
