// SPDX-License-Identifier: Apache-2.0
// What the devices do, on one thread. A command starts when its waits are over, no barrier holds it back, and, in an ordered
// queue, all before it have ended. It ends after its length; copies and resets take effect then.

#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t sim_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t sim_changed;

static struct levelzero_queue *queues;
static uint32_t queue_numbers[DEVICES];
static uint64_t epoch_ns, to_realtime_ns, epoch_cycles;
static bool is_ending;
static FILE *truth;
static pthread_t thread;

uint64_t sim_now(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t sim_cycles(uint64_t now_ns)
{
  return epoch_cycles + (uint64_t)((unsigned __int128)(now_ns - epoch_ns) * FREQUENCY / 1000000000u);
}

void sim_violation(const char *what)
{
  fprintf(stderr, "VIOLATION: %s\n", what);
}

// ---- commands
static void use(struct command *command, int change)
{
  if (command->signal != NULL)
    command->signal->users += (uint32_t)change;
  if (command->target != NULL)
    command->target->users += (uint32_t)change;
  for (uint32_t i = 0; i < command->wait_count; i++)
    command->waits[i]->users += (uint32_t)change;
  for (uint32_t i = 0; i < command->query_count; i++)
    command->queried[i]->users += (uint32_t)change;
}

static void *copy_of(const void *bytes, size_t size)
{
  return size == 0 ? NULL : memcpy(malloc(size), bytes, size);
}

struct command *sim_copy(const struct command *command)
{
  struct command *copy = copy_of(command, sizeof *command);
  copy->next = NULL;
  copy->waits = copy_of(command->waits, command->wait_count * sizeof *command->waits);
  copy->queried = copy_of(command->queried, command->query_count * sizeof *command->queried);
  return copy;
}

void sim_free(struct command *command)
{
  free(command->waits);
  free(command->queried);
  free(command);
}

static void write_truth(const struct levelzero_queue *queue, const struct command *command)
{
  static const char *const kinds[] = {"kernel", "memcpy", "memset"};
  if (truth == NULL || command->kind > FILL)
    return;
  fprintf(truth,
          "{\"process\": %d, \"kind\": \"%s\", \"name\": \"%s\", \"grid\": [%u,%u,%u], \"block\": [%u,%u,%u], "
          "\"bytes\": %zu, \"device\": %u, \"queue\": %u, \"start\": %llu, \"end\": %llu}\n",
          (int)getpid(), kinds[command->kind], command->name, command->grid[0], command->grid[1], command->grid[2],
          command->block[0], command->block[1], command->block[2], command->bytes, queue->device, queue->number,
          (unsigned long long)(command->start_ns + to_realtime_ns),
          (unsigned long long)(command->end_ns + to_realtime_ns));
  fflush(truth);
}

static void answer_query(const struct command *command)
{
  ze_kernel_timestamp_result_t *to = command->to;
  for (uint32_t i = 0; i < command->query_count; i++) {
    const struct event *event = command->queried[i];
    uint64_t mask = (UINT64_C(1) << KERNEL_BITS) - 1;
    ze_kernel_timestamp_data_t times = {0, 0};
    if ((event->pool->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP) == 0)
      sim_violation("times of an event without times");
    if (event->is_signalled)
      times = (ze_kernel_timestamp_data_t){sim_cycles(event->start_ns) & mask, sim_cycles(event->end_ns) & mask};
    to[i].global = to[i].context = times;
  }
}

static void end(struct levelzero_queue *queue, struct command *command)
{
  if (command->kind == COPY)
    memcpy(command->to, command->from, command->bytes);
  if (command->kind == FILL)
    memset(command->to, command->pattern, command->bytes);
  if (command->kind == QUERY)
    answer_query(command);
  if (command->kind == RESET)
    command->target->is_signalled = false;
  if (command->kind == FENCE)
    command->fence->is_signalled = true;
  write_truth(queue, command);
  if (command->signal != NULL) {
    command->signal->start_ns = command->start_ns;
    command->signal->end_ns = command->end_ns;
    command->signal->is_signalled = true;
  }
  use(command, -1);
  sim_free(command);
}

static bool may_start(const struct levelzero_queue *queue, const struct command *command)
{
  for (uint32_t i = 0; i < command->wait_count; i++)
    if (!command->waits[i]->is_signalled)
      return false;
  bool waits_for_all =
      queue->is_in_order || (command->is_barrier && command->wait_count == 0) || command->kind == FENCE;
  for (const struct command *before = queue->first; before != command; before = before->next)
    if (waits_for_all || before->is_barrier)
      return false;
  return true;
}

// Starts and ends what is due. When the next one ends: *next_ns.
static bool step(struct levelzero_queue *queue, uint64_t *next_ns)
{
  uint64_t now = sim_now();
  for (struct command **place = &queue->first; *place != NULL; place = &(*place)->next) {
    struct command *command = *place;
    if (!command->is_running && may_start(queue, command)) {
      command->is_running = true;
      command->start_ns = now;
      command->end_ns = now + command->length_ns;
    }
    if (command->is_running && command->end_ns <= now) {
      struct command *before = queue->first;
      while (before != command && before->next != command)
        before = before->next;
      *place = command->next;
      if (queue->last == command)
        queue->last = before == command ? NULL : before;
      end(queue, command);
      return true;
    }
    if (command->is_running && command->end_ns < *next_ns)
      *next_ns = command->end_ns;
  }
  return false;
}

static void *run(void *unused)
{
  pthread_mutex_lock(&sim_lock);
  while (!is_ending) {
    uint64_t next_ns = sim_now() + 50000000;
    bool is_changed = false;
    for (struct levelzero_queue *queue = queues; queue != NULL; queue = queue->next)
      while (step(queue, &next_ns))
        is_changed = true;
    if (is_changed) {
      pthread_cond_broadcast(&sim_changed);
      continue;
    }
    struct timespec until = {(time_t)(next_ns / 1000000000), (long)(next_ns % 1000000000)};
    pthread_cond_timedwait(&sim_changed, &sim_lock, &until);
  }
  pthread_mutex_unlock(&sim_lock);
  return unused;
}

// ---- queues
struct levelzero_queue *sim_queue(uint32_t device, bool is_in_order, bool is_synchronous)
{
  struct levelzero_queue *queue = calloc(1, sizeof *queue);
  pthread_mutex_lock(&sim_lock);
  *queue = (struct levelzero_queue){queues, device, ++queue_numbers[device], is_in_order, is_synchronous, NULL, NULL};
  queues = queue;
  pthread_mutex_unlock(&sim_lock);
  return queue;
}

void sim_queue_gone(struct levelzero_queue *queue)
{
  pthread_mutex_lock(&sim_lock);
  if (queue->first != NULL)
    sim_violation("a queue is destroyed that has commands in flight");
  struct levelzero_queue **place = &queues;
  while (*place != queue)
    place = &(*place)->next;
  *place = queue->next;
  pthread_mutex_unlock(&sim_lock);
  free(queue);
}

void sim_submit(struct levelzero_queue *queue, struct command *command)
{
  if (queue->first == NULL)
    queue->first = command;
  else
    queue->last->next = command;
  queue->last = command;
  use(command, 1);
  pthread_cond_broadcast(&sim_changed);
}

static bool wait_until(uint64_t begin, uint64_t timeout_ns)
{
  uint64_t now = sim_now();
  if (timeout_ns != UINT64_MAX && now - begin >= timeout_ns)
    return false;
  uint64_t until_ns = timeout_ns == UINT64_MAX ? now + 1000000000 : begin + timeout_ns;
  struct timespec until = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};
  pthread_cond_timedwait(&sim_changed, &sim_lock, &until);
  return true;
}

bool sim_wait(const bool *is_done, uint64_t timeout_ns)
{
  uint64_t begin = sim_now();
  while (!*is_done)
    if (!wait_until(begin, timeout_ns))
      return *is_done;
  return true;
}

bool sim_wait_queue(const struct levelzero_queue *queue, uint64_t timeout_ns)
{
  uint64_t begin = sim_now();
  while (queue->first != NULL)
    if (!wait_until(begin, timeout_ns))
      return queue->first == NULL;
  return true;
}

// ---- the driver's life. Kernels' clocks wrap 100 ms after it starts.
void sim_start(void)
{
  pthread_condattr_t monotonic;
  struct timespec now;
  const char *file = getenv("XSP_SIM_TRUTH");
  clock_gettime(CLOCK_REALTIME, &now);
  epoch_ns = sim_now();
  to_realtime_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - epoch_ns;
  epoch_cycles = (UINT64_C(5) << KERNEL_BITS) - FREQUENCY / 10;
  truth = file == NULL ? NULL : fopen(file, "a");
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&sim_changed, &monotonic);
  pthread_create(&thread, NULL, run, NULL);
}

void sim_stop(void)
{
  pthread_mutex_lock(&sim_lock);
  is_ending = true;
  pthread_cond_broadcast(&sim_changed);
  pthread_mutex_unlock(&sim_lock);
  pthread_join(thread, NULL);
}
