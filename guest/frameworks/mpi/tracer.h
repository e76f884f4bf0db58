// SPDX-License-Identifier: Apache-2.0
// The parts of mpi.so. All run on threads of the program, inside its calls of MPI; after a communicator's first call
// nothing allocates or locks by itself.
#ifndef XSP_FRAMEWORKS_MPI_TRACER_H
#define XSP_FRAMEWORKS_MPI_TRACER_H

#include "frameworks/mpi/hooks.h"

#define TRACER "mpi"

extern const struct mpi_functions *mpi; // NULL: not started

// ---- tracer_groups.c
#define MPI_GROUPS 128u // sets of ranks, and communicators of the same ranks at a time; others are not recorded
struct mpi_group {      // a communicator, and those of the same ranks before it
  mpi_word handle;      // atomic; 0: free, or freed by the program
  uint64_t ranks;       // hash of its ranks in MPI_COMM_WORLD, whatever their order. Atomic, written last; 0: unused
  uint32_t number;      // 1 … MPI_GROUPS
  uint32_t size;
  int64_t sequence; // atomic: of the last collective
  char name[64];    // "0-3", "0,2", "0-62 (32 ranks, 7d1f)", "0-3 #2" where several have collectives at a time
};
mpi_word mpi_handle(mpi_word argument); // without the part of the word that is not the handle's
mpi_word mpi_handle_at(const void *handles, uint32_t place);
// NULL: none, between two groups of ranks, or too many. Those of collectives are others than those of sends and receives.
struct mpi_group *mpi_group_of(mpi_word communicator, bool is_between_two);
void mpi_group_freed(const void *communicator);

// ---- tracer_bytes.c
int64_t mpi_bytes(const struct mpi_call *call, const mpi_word *arguments, const struct mpi_group *group);

// ---- tracer_requests.c
void mpi_requests_add(const struct mpi_open *made); // without a site: it is not recorded
void mpi_requests_freed(const void *handle);
void mpi_requests_wait(struct mpi_open *open);
void mpi_requests_waited(struct mpi_open *open);

// ---- tracer.c
struct xsp_site *mpi_wait_site(const struct mpi_call *call);
void mpi_tag(const struct xsp_span *span, int64_t sequence, int64_t bytes); // less than 0: unknown

#endif
