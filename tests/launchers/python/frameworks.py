"""Frameworks that read Slurm's variables themselves: the rank that each takes this process for, as one line of DIR/FRAMEWORK.RANK.

    frameworks.py DIR FRAMEWORK...     ignite, lightning, submitit, mmengine or jax, one after the other
"""

import os
import subprocess
import sys


def ignite():
    import ignite.distributed as idist

    idist.initialize("gloo")
    seen = f"{idist.get_rank()}/{idist.get_world_size()} {idist.get_local_rank()}/{idist.get_nproc_per_node()}"
    total = idist.all_reduce(idist.get_rank())
    idist.finalize()
    return f"{seen} {total}"


def lightning():
    from lightning.fabric.plugins.environments import SLURMEnvironment

    environment = SLURMEnvironment()
    assert SLURMEnvironment.detect()
    nodes = int(os.environ["SLURM_NNODES"])
    devices = environment.world_size() // nodes
    environment.validate_settings(num_devices=devices, num_nodes=nodes)
    assert environment.node_rank() == int(os.environ["NODE_RANK"])
    return f"{environment.global_rank()}/{environment.world_size()} {environment.local_rank()}/{devices} {sum_of_ranks()}"


def submitit():
    os.environ["SUBMITIT_EXECUTOR"] = "slurm"
    import submitit

    job = submitit.JobEnvironment()
    assert job.node == int(os.environ["NODE_RANK"])
    each = submitit.helpers.TorchDistributedEnvironment().local_world_size
    return f"{job.global_rank}/{job.num_tasks} {job.local_rank}/{each} {sum_of_ranks()}"


def mmengine():
    """As _init_dist_slurm of mmengine/dist/utils.py, which cannot be installed without OpenCV."""
    rank, size = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
    local = int(os.environ["SLURM_LOCALID"])
    nodes = os.environ["SLURM_NODELIST"]
    first = subprocess.getoutput(f"scontrol show hostname {nodes} | head -n1")
    os.environ.setdefault("MASTER_PORT", "29500")
    os.environ.setdefault("MASTER_ADDR", first)
    os.environ.update(WORLD_SIZE=str(size), LOCAL_RANK=str(local), RANK=str(rank))
    return f"{rank}/{size} {local}/{os.environ['LOCAL_WORLD_SIZE']} {sum_of_ranks()}"


def jax():
    import jax

    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize()
    from jax.experimental import multihost_utils

    ranks = multihost_utils.process_allgather(jax.numpy.array([jax.process_index()]))
    local = os.environ["SLURM_LOCALID"]
    seen = f"{jax.process_index()}/{jax.process_count()} {local}/{os.environ['LOCAL_WORLD_SIZE']} {int(ranks.sum())}"
    jax.distributed.shutdown()
    return seen


def sum_of_ranks():
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    rank = torch.tensor(dist.get_rank())
    dist.all_reduce(rank)
    dist.destroy_process_group()
    return int(rank)


if __name__ == "__main__":
    for framework in sys.argv[2:]:
        line = globals()[framework]()
        with open(os.path.join(sys.argv[1], f"{framework}.{os.environ['RANK']}"), "w") as file:
            file.write(f"{line}\n")
