"""For suites in Python: the functions that checks.sh has for those in bash."""


def rerun(name, reason):
    """Before a check is tried again; tests/run counts these lines."""
    print(f"rerun {name}: {' '.join(reason.split())}", flush=True)
