// SPDX-License-Identifier: Apache-2.0
// Collectives of torch.distributed. An operator c10d::… on the program's thread starts one; a range such as gloo:all_reduce, on a thread of
// the backend, is its run: a span of category "collective". The run has the operator as its parent, and the call path of the line that
// started it. Called by tracer_operators.c.
#include "base/hash.h"
#include "frameworks/common/sites.h"
#include "frameworks/pytorch/tracer.h"

#include <stdio.h>
#include <string.h>
#include <xsp/call_path.h>

#define OPERATOR "c10d::"
#define KIND_SIZE 32u
#define MODULE_SIZE 128u // longer names are cut

// "c10d::allreduce_" and "gloo:all_reduce" are "allreduce".
static void put_kind(char kind[KIND_SIZE], const char *name)
{
  size_t length = 0;
  for (; *name != 0 && length + 1 < KIND_SIZE; name++)
    if (*name != '_')
      kind[length++] = *name;
  memset(kind + length, 0, KIND_SIZE - length);
}

// Several operators have the same run: allgather, _allgather_base. Gloo reduces and scatters by an all-reduce.
static bool is_run_of(const char *started, const char *run)
{
  static const char *const endings[] = {"", "base", "coalesced", "intotensorcoalesced", "tensorcoalesced"};
  size_t length = strlen(run);
  if (strcmp(run, "allreduce") == 0 && strncmp(started, "reducescatter", 13) == 0)
    return true;
  for (size_t i = 0; i < sizeof endings / sizeof endings[0] && strncmp(started, run, length) == 0; i++)
    if (strcmp(started + length, endings[i]) == 0)
      return true;
  return false;
}

static const char *run_name(const char *name) // "all_reduce"; NULL: the range is no run of a collective
{
  static const char *const backends[] = {
      "gloo:", "mpi:", "ucc:"}; // NCCL's ranges are its starts; its kernels are the runs
  for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++)
    if (strncmp(name, backends[i], strlen(backends[i])) == 0)
      return name + strlen(backends[i]);
  return NULL;
}

// ---- collectives that were started and do not run yet -------------------------------------------------------------------
#define STARTED_MOST 64u     // older ones are forgotten
#define RUNS_MOST (1u << 24) // of one

static struct started {
  uint64_t number; // atomic, in order of start, times RUNS_MOST, and the runs that began; 0: none, or being written
  struct xsp_context span;
  uint32_t path, parameters; // whose gradients it reduces; 0: unknown
  char kind[KIND_SIZE], module[MODULE_SIZE];
} started[STARTED_MOST];
static uint64_t last_number; // atomic

bool pytorch_collectives_starts(const char *name)
{
  return strncmp(name, OPERATOR, sizeof OPERATOR - 1) == 0;
}

// ---- what they are for
void pytorch_collectives_backward(struct pytorch_thread *thread, const char *name, const struct operator_place *forward)
{
  struct ready_gradients *ready = &thread->ready;
  if (forward != NULL && forward->module != NULL)
    ready->module = forward->module;
  if (name[0] != 't' || strcmp(name, "torch::autograd::AccumulateGrad") != 0)
    return;
  ready->first = ready->parameters == 0 ? ready->module : ready->first;
  ready->last = ready->module;
  ready->parameters++;
}

static bool is_of_gradient(const struct open_operator *opened, const struct pytorch_thread *thread)
{
  const struct open_operator *around = opened;
  while (around > thread->open && (around == opened || around->scope == SCOPE_USER))
    around--;
  return around != opened && around->scope != SCOPE_USER &&
         strstr(torch->name(around->record), "AccumulateGrad") != NULL;
}

// FSDP's ranges have a module in parentheses: "FSDP::all_gather (layers.0)". NULL: none is open.
static const char *module_of_ranges(const struct pytorch_thread *thread, size_t *ret_length)
{
  for (uint32_t i = thread->depth; i > 0; i--) {
    const char *name = thread->open[i - 1].scope == SCOPE_USER ? torch->name(thread->open[i - 1].record) : "";
    const char *open = strncmp(name, "FSDP::", 6) == 0 ? strchr(name, '(') : NULL,
               *end = open != NULL ? strchr(open, ')') : NULL;
    if (end == NULL)
      continue;
    *ret_length = (size_t)(end - open - 1);
    return open + 1;
  }
  return NULL;
}

static void put_module(struct pytorch_thread *thread, const struct open_operator *opened, struct started *of)
{
  struct ready_gradients *ready = &thread->ready;
  const struct module_name *module = opened->place.module;
  size_t length;
  const char *of_range = module_of_ranges(thread, &length);
  of->module[0] = 0;
  of->parameters = 0;
  if (of_range != NULL)
    snprintf(of->module, MODULE_SIZE, "%.*s", (int)(length < MODULE_SIZE ? length : MODULE_SIZE), of_range);
  else if (ready->parameters > 0 && is_of_gradient(opened, thread)) { // a bucket of DistributedDataParallel
    of->parameters = ready->parameters;
    if (ready->first != NULL && ready->last != NULL)
      snprintf(of->module, MODULE_SIZE, "%s%s%s", ready->first->text, ready->first != ready->last ? " to " : "",
               ready->first != ready->last ? ready->last->text : "");
    *ready = (struct ready_gradients){.module = ready->module};
  } else if (module != NULL)
    snprintf(of->module, MODULE_SIZE, "%s", module->text);
}

void pytorch_collectives_started(struct pytorch_thread *thread, const struct open_operator *opened, const char *name,
                                 uint32_t path)
{
  uint64_t number = __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
  struct started *place = &started[number % STARTED_MOST];
  __atomic_store_n(&place->number, 0, __ATOMIC_RELEASE);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  place->span = xsp_span_context(&opened->span);
  place->path = path;
  put_module(thread, opened, place);
  put_kind(place->kind, name + sizeof OPERATOR - 1);
  __atomic_store_n(&place->number, number * RUNS_MOST, __ATOMIC_RELEASE);
}

// The number of a start that this run takes: 0, except for a reduce-scatter that Gloo runs as an all-reduce for each rank of the group.
static uint64_t number_after(uint64_t number, const char *kind, const char *run, const struct process_group *group)
{
  uint64_t runs = number % RUNS_MOST + 1;
  bool is_of_many = strcmp(run, "allreduce") == 0 && strcmp(kind, "reducescatter") == 0;
  return is_of_many && runs < group->size && runs < RUNS_MOST ? number + 1 : 0;
}

// The oldest whose run has this name. False: there is none.
static bool take_started(const char *run, const struct process_group *group, struct started *ret_started)
{
  char kind[KIND_SIZE];
  put_kind(kind, run);
  for (uint32_t tries = 0; tries < STARTED_MOST; tries++) {
    struct started *oldest = NULL;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < STARTED_MOST; i++) {
      uint64_t number = __atomic_load_n(&started[i].number, __ATOMIC_ACQUIRE);
      if (number == 0 || number >= least) // mostly: few have not begun yet
        continue;
      struct started copy = started[i];
      copy.kind[KIND_SIZE - 1] = 0;
      if (!is_run_of(copy.kind, kind))
        continue;
      least = number;
      oldest = &started[i];
      *ret_started = copy;
    }
    if (oldest == NULL)
      return false;
    uint64_t next = number_after(least, ret_started->kind, kind, group);
    if (__atomic_compare_exchange_n(&oldest->number, &least, next, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return true; // nobody changed it since it was copied
  }
  return false;
}

// ---- runs ---------------------------------------------------------------------------------------------------------------
#define SLOTS 1024u
static struct site_slot slots[SLOTS];
static struct site_table sites = {.slots = slots, .slot_count = SLOTS};

static struct xsp_site *site_of(const char *name, const struct process_group *group)
{
  uint64_t key = hash_text(name, strlen(name), (uint64_t)group->number + 1) | 1;
  struct xsp_site *site = framework_sites_find(&sites, key);
  if (site == NULL && framework_sites_have_room(&sites) &&
      (site = xsp_site_create_variant(TRACER, XSP_LEVEL_LIBRARY, name, "collective", group->number)) != NULL) {
    if (group->name != NULL)
      xsp_site_tag_string(site, "group", group->name);
    site = framework_sites_add(&sites, key, site);
  }
  return site;
}

struct run {
  struct xsp_site *site;
  struct xsp_context parent;
  uint32_t path, parameters;
  int64_t bytes; // -1: unknown
  char module[MODULE_SIZE];
};

static struct run run_of(const void *record, const char *name, const struct process_group *group)
{
  struct started started_by = {0};
  struct run run = {.site = site_of(name, group)};
  if (!pytorch_shapes_bytes(record, &run.bytes))
    run.bytes = -1;
  if (!take_started(run_name(name), group, &started_by))
    return run;
  const struct xsp_frame frame = {.size = sizeof frame, .kind = XSP_FRAME_FRAMEWORK, .name = name};
  run.parent = started_by.span;
  run.parameters = started_by.parameters;
  memcpy(run.module, started_by.module, MODULE_SIZE);
  run.module[MODULE_SIZE - 1] = 0;
  run.path = started_by.path != 0 ? xsp_call_path(started_by.path, &frame) : 0;
  return run;
}

static void tag_run(const struct xsp_span *span, const struct run *run)
{
  if (run->bytes >= 0)
    xsp_span_tag_int(span, "bytes", run->bytes);
  if (run->module[0] != 0)
    xsp_span_tag_string(span, "module", run->module);
  if (run->parameters > 0)
    xsp_span_tag_int(span, "parameters", run->parameters);
}

bool pytorch_collectives_begins(const void *record, const char *name, struct xsp_span *ret_span)
{
  if (run_name(name) == NULL)
    return false;
  struct process_group *group = pytorch_group_of_thread();
  *ret_span = xsp_span_start(site_of(name, group));
  if (ret_span->start == 0)
    return true;
  const struct run run = run_of(record, name, group);
  xsp_span_tag_int(ret_span, "sequence", __atomic_add_fetch(&group->sequence, 1, __ATOMIC_RELAXED));
  tag_run(ret_span, &run);
  if (run.parent.id != 0)
    xsp_span_set_parent(ret_span, run.parent);
  if (run.path != 0)
    xsp_span_call_path(ret_span, run.path);
  return true;
}

// ---- between two ranks --------------------------------------------------------------------------------------------------
// The range of a send or receive begins in the operator that posts it and ends in the program's wait for it, which may be on another
// thread. In between the thread does other work, so it is on no thread's stack, and published when it ends.
#define EXCHANGES 256u // at a time; more are not recorded

static struct exchange {
  const void *record; // atomic, written last; NULL: free
  uint64_t start;
  struct run run;
} exchanges[EXCHANGES];
static uint32_t open_exchanges; // atomic

bool pytorch_exchange_begins(const void *record, const char *name)
{
  static const char taken;
  const char *run = run_name(name);
  if (run == NULL || (strncmp(run, "send", 4) != 0 && strncmp(run, "recv", 4) != 0))
    return false;
  for (uint32_t i = 0; i < EXCHANGES; i++) {
    const void *none = NULL;
    if (!__atomic_compare_exchange_n(&exchanges[i].record, &none, &taken, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      continue;
    exchanges[i].run = run_of(record, name, pytorch_group_unknown());
    exchanges[i].start = xsp_clock_ticks();
    __atomic_add_fetch(&open_exchanges, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&exchanges[i].record, record, __ATOMIC_RELEASE);
    break;
  }
  return true;
}

// Exchanges overlap each other and what the program does meanwhile.
static uint16_t track_of_exchanges(void)
{
  static uint16_t kept; // atomic; 0: not made yet
  uint16_t track = __atomic_load_n(&kept, __ATOMIC_RELAXED), none = 0;
  if (track != 0)
    return track;
  const struct xsp_track_options options = {
      .size = sizeof options, .name = "send and receive", .device_id = -1, .stream_id = -1};
  track = xsp_track_create(&options);
  if (!__atomic_compare_exchange_n(&kept, &none, track, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    return none; // another thread was faster
  return track;
}

void pytorch_exchange_ended(const void *record)
{
  if (__atomic_load_n(&open_exchanges, __ATOMIC_RELAXED) == 0)
    return;
  for (uint32_t i = 0; i < EXCHANGES; i++) {
    if (__atomic_load_n(&exchanges[i].record, __ATOMIC_ACQUIRE) != record)
      continue;
    const struct exchange ended = exchanges[i];
    __atomic_sub_fetch(&open_exchanges, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&exchanges[i].record, NULL, __ATOMIC_RELEASE);
    const struct xsp_interval interval = {.size = sizeof interval,
                                          .track = track_of_exchanges(),
                                          .start = ended.start,
                                          .end = xsp_clock_ticks(),
                                          .parent = ended.run.parent,
                                          .call_path = ended.run.path};
    const struct xsp_span span = xsp_span_emit(ended.run.site, &interval);
    tag_run(&span, &ended.run);
    return;
  }
}
