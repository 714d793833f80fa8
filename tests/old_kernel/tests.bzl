"""Unit tests once more, on an older kernel."""

def old_kernel_tests(name, test, args = [], tags = []):
    """NAME_enosys and NAME_eperm: the test without newer system calls (call_filter.h).

    Args:
      name: what the two begin with.
      test: the test.
      args: of the test.
      tags: as in sh_test.
    """
    for profile in ["enosys", "eperm"]:
        native.sh_test(
            name = "%s_%s" % (name, profile),
            srcs = ["//tests/old_kernel:run_test"],
            args = [
                "$(rootpath //tests/old_kernel)",
                profile,
                "$(rootpath %s)" % test,
            ] + args,
            data = [
                test,
                "//tests/old_kernel",
            ],
            tags = tags,
        )
