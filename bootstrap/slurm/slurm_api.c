#include "bootstrap/slurm/slurm_api.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>

void MusterSlurmStart(void) { slurm_init(NULL); }

const char* MusterSlurmRelease(void) {
  static char text[32];
  snprintf(text, sizeof text, "%d.%d.%d", SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
           SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER), SLURM_VERSION_MICRO(SLURM_VERSION_NUMBER));
  return text;
}

static int LastError(void) { return errno != 0 ? errno : SLURM_ERROR; }

/* The list has one name for each element of tasks and tids. */
static void TellTasks(const slurm_step_layout_t* layout, MusterSlurmTask on_task, void* context) {
  /* A pointer since 23.11, and what it points to has another name. */
  __typeof__(slurm_hostlist_create("")) hosts = slurm_hostlist_create(layout->node_list);
  for (uint32_t node = 0; node < layout->node_cnt; ++node) {
    char* name = slurm_hostlist_shift(hosts);
    if (name == NULL) break;
    for (uint32_t i = 0; i < layout->tasks[node]; ++i) on_task(context, name, layout->tids[node][i]);
    free(name);
  }
  slurm_hostlist_destroy(hosts);
}

int MusterSlurmLayout(uint32_t job, uint32_t step, MusterSlurmTask on_task, void* context) {
  slurm_step_id_t id = {.job_id = job, .step_id = step, .step_het_comp = NO_VAL};
  errno = 0;
  slurm_step_layout_t* layout = slurm_job_step_layout_get(&id);
  if (layout == NULL) return LastError();
  TellTasks(layout, on_task, context);
  slurm_job_step_layout_free(layout);
  return 0;
}

/* A job's number in 24.11, a step's id in 26.05. */
typedef int (*LoadJobByNumber)(job_info_msg_t**, uint32_t, uint16_t);
#define JOB_TO_LOAD(number, id) _Generic(&slurm_load_job, LoadJobByNumber : (number), default : (id))

int MusterSlurmJobEnd(uint32_t job, int64_t* seconds_since_1970) {
  job_info_msg_t* found = NULL;
  const slurm_step_id_t id = {.job_id = job, .step_id = NO_VAL, .step_het_comp = NO_VAL};
  (void)id;
  errno = 0;
  const int error = slurm_load_job(&found, JOB_TO_LOAD(job, id), SHOW_DETAIL);
  if (error != SLURM_SUCCESS || found == NULL) return LastError();
  const int known = found->record_count > 0 && found->job_array[0].end_time > 0;
  if (known) *seconds_since_1970 = (int64_t)found->job_array[0].end_time;
  slurm_free_job_info_msg(found);
  return known ? 0 : ESLURM_INVALID_JOB_ID;
}

int MusterSlurmAddress(const char* node, char* address, size_t size) {
  node_info_msg_t* found = NULL;
  errno = 0;
  /* Not changed; the interface of most releases lacks the const. */
  if (slurm_load_node_single(&found, (char*)node, SHOW_ALL) != SLURM_SUCCESS || found == NULL) {
    return LastError();
  }
  const int known = found->record_count > 0 && found->node_array[0].node_addr != NULL;
  if (known) snprintf(address, size, "%s", found->node_array[0].node_addr);
  slurm_free_node_info_msg(found);
  return known ? 0 : ESLURM_INVALID_NODE_NAME;
}

const char* MusterSlurmErrorText(int error) { return slurm_strerror(error); }
