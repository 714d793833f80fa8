"""A harness through muster, with ranks that end in the middle: dispatched.py HARNESS FOLDER RANKS ARGUMENTS OF THE HARNESS

HARNESS: lm_eval or lmms_eval. RANKS: "", "1", "0,1,2". Each of them ends by SIGKILL at its third batch, once: FOLDER knows it. The
others wait at theirs until that has happened, so that it happens however busy the machine is. FOLDER/done gets a line for each batch
that a model has done. $SLOW: this number of seconds more for each batch from a rank's third one on.
"""

import importlib
import os
import signal
import sys
import time

import muster

harness, folder, ranks = sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1)
killed = [one for one in ranks.split(",") if one]
slow = float(os.environ.get("SLOW", "0"))
module = importlib.import_module(f"muster.{harness}")
calls = 0


def model_and_method():
    if harness == "lm_eval":
        from lm_eval.models.huggingface import HFLM

        return HFLM, "loglikelihood"
    from muster_lmms.models.tiny_text import TinyText

    return TinyText, "generate_until"


def mark(rank):
    return os.path.join(folder, f"killed-{rank}")


def is_first(rank):
    try:
        os.close(os.open(mark(rank), os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False


def third_batch(rank):
    if rank in killed:
        if is_first(rank):
            os.kill(os.getpid(), signal.SIGKILL)
        return
    end = time.monotonic() + 60
    while not all(os.path.exists(mark(one)) for one in killed) and time.monotonic() < end:
        time.sleep(0.01)


def watched(own):
    def method(self, requests, **more):
        global calls
        results = own(self, requests, **more)  # raises on rank 0 if the batches are found
        calls += 1
        rank = str(muster.rank())
        if calls == 3:
            third_batch(rank)
        if calls >= 3:
            time.sleep(slow)
        file = os.open(os.path.join(folder, "done"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(file, f"{rank} {[one for one in requests[0].args if isinstance(one, (str, int))]}\n".encode())
        os.close(file)
        return results

    return method


model, name = model_and_method()
setattr(model, name, watched(getattr(model, name)))
module.main()
