/* The few calls of libslurm that muster-slurm makes, as plain C: the library's interface changes with every
 * release, and its headers are not always C++. Protocol: slurm/slurm.h of the release that this is compiled
 * with. One thread. */
#ifndef MUSTER_BOOTSTRAP_SLURM_SLURM_API_H
#define MUSTER_BOOTSTRAP_SLURM_SLURM_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The first call. ENDS THE PROCESS if there is no configuration of Slurm. */
void MusterSlurmStart(void);

/* "22.5.8". */
const char* MusterSlurmRelease(void);

/* Told of each task of a step, node by node in the order of the step's list. */
typedef void (*MusterSlurmTask)(void* context, const char* node, uint32_t task);

/* Each queries slurmctld, and BLOCKS as long as slurm.conf allows. 0, or Slurm's number of an error. */
int MusterSlurmLayout(uint32_t job, uint32_t step, MusterSlurmTask on_task, void* context);
int MusterSlurmJobEnd(uint32_t job, int64_t* seconds_since_1970);
int MusterSlurmAddress(const char* node, char* address, size_t size);

const char* MusterSlurmErrorText(int error);

#ifdef __cplusplus
}
#endif

#endif
