"""Two workers of Ray Train on this node: it sets the variables inside each, while it runs.

    ray_train.py DIR PROGRAM [ARG]...

DIR: for Ray's own files.
"""

import os
import subprocess
import sys

import ray
import ray.train
import ray.train.torch


def work(config):
    context = ray.train.get_context()
    told = f"TOLD={context.get_world_rank()} {context.get_local_rank()}"
    subprocess.run(["env", told, *config["command"]], cwd=config["place"], check=True)


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, _temp_dir=sys.argv[1])
    ray.train.torch.TorchTrainer(
        work,
        train_loop_config={"command": sys.argv[2:], "place": os.getcwd()},
        scaling_config=ray.train.ScalingConfig(num_workers=2),
        run_config=ray.train.RunConfig(storage_path=sys.argv[1]),
    ).fit()
