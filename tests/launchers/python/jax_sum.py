"""JAX over the processes of a Slurm step: it reads Slurm's variables itself, and muster leaves them alone."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize()

import jax.numpy as jnp  # noqa: E402  (after the processes have met)
from jax.experimental import multihost_utils  # noqa: E402

ranks = multihost_utils.process_allgather(jnp.array([jax.process_index()]))
if jax.process_index() == 0:
    print(f"sum {int(ranks.sum())} of {jax.process_count()}")
jax.distributed.shutdown()
