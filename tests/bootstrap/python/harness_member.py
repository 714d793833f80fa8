"""muster.lm_eval over a harness and a model of its own: harness_member.py FOLDER MODE..., alone or under a launcher.

The modules of lm-eval that muster.lm_eval uses are made here. FOLDER gets a line for each batch that a model has done.
"""

import dataclasses
import json
import os
import signal
import sys
import time
import types

import muster
import muster._dispatch
import muster.lm_eval

folder = sys.argv.pop(1)
modes = sys.argv[1:]
ARGUMENTS = "a=2" if "other" in modes else "a=1"


@dataclasses.dataclass
class Instance:
    request_type: str
    doc: dict
    arguments: tuple
    idx: int
    metadata: tuple = (None, None, None)

    @property
    def args(self):
        return self.arguments

    @property
    def task_name(self):
        return self.metadata[0]

    @property
    def doc_id(self):
        return self.metadata[1]


class Collator:
    """Longest first, in batches; as lm-eval's, as far as muster.lm_eval uses it."""

    def __init__(self, values):
        self._arr_with_indices = tuple(enumerate(values))
        self._group_by = None
        self._sort_fn = lambda pair: -len(pair[1][0])

    def get_batched(self, n=1, batch_fn=None):
        values = sorted(self._arr_with_indices, key=self._sort_fn)
        for i in range(0, len(values), n):
            yield values[i : i + n]


class AcceleratorError(RuntimeError):
    """PyTorch's name of a failed device."""


def note(text):
    file = os.open(os.path.join(folder, "done"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(file, f"{text}\n".encode())
    os.close(file)


def once(name):
    try:
        os.close(os.open(os.path.join(folder, name), os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False


class Model:
    batch_size = 3

    def __init__(self, words, more):
        self.words, self.more = words, more
        self.tokenizer = "of the model"

    @classmethod
    def create_from_arg_string(cls, words, more=None):
        return cls(words, more)

    def set_cache_hook(self, hook):
        self.hook = hook

    def loglikelihood(self, requests):
        results = {}
        for chunk in Collator([request.args for request in requests]).get_batched(n=self.batch_size):
            note(" ".join(f"{i}:{arguments[0]}" for i, arguments in chunk) if "cuts" in modes else len(chunk))
            self.suffer(chunk)
            for i, (context, continuation) in chunk:
                results[i] = (len(context) / 3, continuation == "x")
        return [results[i] for i in range(len(requests))]

    def loglikelihood_rolling(self, requests):
        return [len(request.args[0]) / 7 for request in requests]

    def generate_until(self, requests):
        assert all(request.args[1] == {"until": ["."]} for request in requests)
        return [f"{self.words} {request.args[0]}" for request in requests]

    def suffer(self, chunk):
        rank = f"rank{muster.rank()}"
        once(f"began-{rank}")
        # A rank that is to suffer gets a batch, however slow it is.
        while not all(os.path.exists(os.path.join(folder, f"began-{mode.partition('=')[2]}")) for mode in modes if "=rank" in mode):
            time.sleep(0.01)
        if "bad" in modes and any(len(arguments[0]) == 7 for _, arguments in chunk):
            raise ValueError("7 is bad")
        if f"broken={rank}" in modes:
            raise AcceleratorError("CUDA error: an illegal memory access was encountered")
        if f"killed={rank}" in modes and once(rank):
            os.kill(os.getpid(), signal.SIGKILL)


def cli_evaluate():
    place = [name for name in os.environ if name.startswith(("RANK", "WORLD_SIZE", "LOCAL_", "MASTER_"))]
    assert place == [], place
    if "usage" in modes:
        sys.exit(2)
    model = sys.modules["lm_eval.api.registry"].get_model("fake").create_from_arg_string(ARGUMENTS, {"batch_size": 3, "device": "cpu"})
    assert (model.rank, model.world_size, model.tokenizer) == (0, 1, "of the model")
    texts = ["a" * (i * 7 % 20) for i in range(20)]
    # One request stands there twice, as repeats do.
    asked = [Instance("loglikelihood", {"id": i}, (text, "xy"[i % 2]), 0, ("sums", i, 1)) for i, text in enumerate(texts)]
    asked.append(asked[0])
    if "large" in modes:
        asked[0].doc["picture"] = os.urandom(6 << 20)
    try:
        chosen = model.loglikelihood(asked)
    except Exception:
        if "swallows" not in modes:
            raise
        return
    if "fails" in modes:
        raise LookupError("of the harness")
    rolled = model.loglikelihood_rolling([Instance("loglikelihood_rolling", {}, (text,), 0, ("text", i, 1)) for i, text in enumerate(texts)])
    words = [Instance("generate_until", {}, (text, {"until": ["."]}), 0, ("words", i, 1)) for i, text in enumerate(texts)]
    assert model.generate_until([]) == []
    print(json.dumps([chosen, rolled, model.generate_until(words)]), flush=True)


def make_modules():
    parts = {
        "lm_eval": {"__version__": "0"},
        "lm_eval.__main__": {"cli_evaluate": cli_evaluate},
        "lm_eval.api": {},
        "lm_eval.api.registry": {"get_model": {"fake": Model}.__getitem__},
        "lm_eval.api.instance": {"Instance": Instance},
        "lm_eval.models": {},
        "lm_eval.models.utils": {"Collator": Collator},
    }
    for name, content in parts.items():
        module = types.ModuleType(name)
        module.__dict__.update(content)
        sys.modules[name] = module
        parent, _, own = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], own, module)


make_modules()
if "parts" in modes:
    muster._dispatch._PART = 100
for mode in modes:
    if mode.startswith("journal"):
        sys.argv.append("--muster_" + mode)
muster.lm_eval.main()
