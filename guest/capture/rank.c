// SPDX-License-Identifier: Apache-2.0
// Which process of a job of several this one is: by the environment that a launcher gave it, or by xsp_process_rank, which wins. Kept
// for the process's file, which comes with the first use of the session, and for forked children.
#include "capture/capture.h"

#include <stdlib.h>
#include <unistd.h>

static struct session_rank kept = {0, 0, -1};

static void put(struct session_rank *to, const struct session_rank *from)
{
  __atomic_store_n(&to->world_size, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&to->rank, from->rank, __ATOMIC_RELAXED);
  __atomic_store_n(&to->local_rank, from->local_rank, __ATOMIC_RELAXED);
  __atomic_store_n(&to->world_size, from->world_size, __ATOMIC_RELEASE);
}

static bool read_number(const char *name, uint32_t *ret_number)
{
  const char *text = name != NULL ? secure_getenv(name) : NULL;
  char *end;
  if (text == NULL || *text < '0' || *text > '9')
    return false;
  unsigned long long value = strtoull(text, &end, 10);
  *ret_number = (uint32_t)value;
  return *end == '\0' && value <= INT32_MAX;
}

void session_rank_from_environment(void)
{
  static const struct {
    const char *rank, *local_rank, *world_size;
  } launchers[] = {
      {"RANK", "LOCAL_RANK", "WORLD_SIZE"}, // torchrun, Accelerate, DeepSpeed
      {"HOROVOD_RANK", "HOROVOD_LOCAL_RANK", "HOROVOD_SIZE"},
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"}, // Open MPI
      {"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"},                                    // MPICH, Intel MPI
      {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"},
  };
  for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
    uint32_t rank, local_rank, world_size;
    if (!read_number(launchers[i].rank, &rank) || !read_number(launchers[i].world_size, &world_size) ||
        rank >= world_size)
      continue;
    bool has_local = read_number(launchers[i].local_rank, &local_rank);
    const struct session_rank found = {world_size, rank, has_local ? (int32_t)local_rank : -1};
    put(&kept, &found);
    return;
  }
}

void session_rank_of_process(struct session_rank *ret_rank)
{
  put(ret_rank, &kept);
}

void xsp_process_rank(uint32_t rank, int32_t local_rank, uint32_t world_size)
{
  if (rank >= world_size || world_size > INT32_MAX)
    return;
  bool is_known = local_rank < 0 && kept.rank == rank && kept.world_size == world_size;
  const struct session_rank given = {world_size, rank, is_known ? kept.local_rank : local_rank < 0 ? -1 : local_rank};
  put(&kept, &given);
  struct process_head *process = __atomic_load_n(&capture.process, __ATOMIC_ACQUIRE);
  if (process != NULL && process->pid == (uint32_t)getpid())
    put(&process->rank, &given);
}
