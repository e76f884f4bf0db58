// SPDX-License-Identifier: Apache-2.0
// A simulated Level Zero driver with two devices: what a program that uses it wrongly would break is counted as a violation,
// and its own records of kernels, copies and memsets are what tests compare with.
#ifndef XSP_TESTS_LEVELZERO_SIM_H
#define XSP_TESTS_LEVELZERO_SIM_H

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define DEVICES 2
#define FREQUENCY UINT64_C(19200000) // cycles a second
#define KERNEL_BITS 32u

struct event {
  struct pool *pool;
  bool is_signalled, is_counter; // is_counter: of no pool of the program's; each append makes it unsignalled
  uint64_t start_ns, end_ns;
  uint32_t users; // commands that have not ended and use it
};
struct pool {
  struct levelzero_context *context;
  uint32_t flags, events;
};
struct levelzero_context {
  uint32_t pools, lists, allocations;
};
enum kind { KERNEL, COPY, FILL, BARRIER, SIGNAL, RESET, QUERY, FENCE };
struct kernel {
  char name[64];
  uint32_t block[3];
};
struct levelzero_device {
  uint32_t number;
};
struct command {
  struct command *next;
  enum kind kind;
  char name[64]; // of a kernel
  uint32_t grid[3], block[3];
  size_t bytes;
  uint64_t length_ns, start_ns, end_ns;
  struct event *signal, *target; // target: of RESET
  struct event **waits, **queried;
  uint32_t wait_count, query_count;
  void *to;
  const void *from;
  int pattern;
  struct fence *fence;
  bool is_barrier, is_running;
};
struct fence {
  bool is_signalled;
};
struct levelzero_queue {
  struct levelzero_queue *next;
  uint32_t device, number; // in the order in which a device's queues were made
  bool is_in_order, is_synchronous;
  struct command *first, *last;
};
struct list {
  struct levelzero_context *context;
  uint32_t device, ordinal, runs; // runs: in flight
  bool is_in_order, is_closed;
  struct levelzero_queue *queue; // of an immediate list
  struct command *first, *last;
};

extern struct levelzero_device sim_devices[DEVICES];
extern pthread_mutex_t sim_lock;
extern pthread_cond_t sim_changed;

uint64_t sim_now(void);               // ns of CLOCK_MONOTONIC
uint64_t sim_cycles(uint64_t now_ns); // what devices show then
void sim_violation(const char *what);
void sim_start(void);
void sim_stop(void);
struct levelzero_queue *sim_queue(uint32_t device, bool is_in_order, bool is_synchronous);
void sim_queue_gone(struct levelzero_queue *queue);
void sim_submit(struct levelzero_queue *queue, struct command *command); // takes it; with the lock
struct command *sim_copy(const struct command *command);
void sim_free(struct command *command);
// With the lock. False: not in time.
bool sim_wait(const bool *is_done, uint64_t timeout_ns);
bool sim_wait_queue(const struct levelzero_queue *queue, uint64_t timeout_ns);

#define OK ZE_RESULT_SUCCESS
#define API(name, ...) static ze_result_t name(__VA_ARGS__)
#define LOCK pthread_mutex_lock(&sim_lock)
#define UNLOCK pthread_mutex_unlock(&sim_lock)
#define TABLE(name, type)                                                                                              \
  __attribute__((visibility("default")))                                                                               \
  ze_result_t zeGet##name##ProcAddrTable(ze_api_version_t version, type *table);                                       \
  ze_result_t zeGet##name##ProcAddrTable(ze_api_version_t version, type *table)

#endif
