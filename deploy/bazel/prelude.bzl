"""A precompiled header: what most files include from outside this repository, parsed once."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "ACTION_NAMES")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _prelude_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    ctx.actions.write(header, "".join(["#include <{}>\n".format(name) for name in ctx.attr.headers]))

    # The compiler takes it for the header where both lie side by side and the options agree, else it reads the header.
    compiled = ctx.actions.declare_file(ctx.label.name + ".h.gch")
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = header.path,
        output_file = compiled.path,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts,
        use_pic = True,
    )
    action = ACTION_NAMES.cpp_compile
    options = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = action,
        variables = variables,
    )
    environment = dict(cc_common.get_environment_variables(
        feature_configuration = features,
        action_name = action,
        variables = variables,
    ))
    if ctx.file.specs:
        # Clang writes down where the header is: not in the sandbox of this action.
        environment["PWD"] = "/proc/self/cwd"
    ctx.actions.run(
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling " + header.short_path,
        executable = cc_common.get_tool_for_action(feature_configuration = features, action_name = action),
        arguments = ["-x", "c++-header"] + options,
        env = environment,
        inputs = depset([header] + ctx.files.specs, transitive = [toolchain.all_files]),
        outputs = [compiled],
    )
    return [CcInfo(compilation_context = cc_common.create_compilation_context(headers = depset([header, compiled] + ctx.files.specs)))]

prelude = rule(
    implementation = _prelude_impl,
    attrs = {
        "headers": attr.string_list(mandatory = True, doc = "as in #include <...>"),
        "copts": attr.string_list(doc = "all those of the files which use it"),
        "specs": attr.label(allow_single_file = True, doc = "which the copts name"),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    incompatible_use_toolchain_transition = True,
)
