// SPDX-License-Identifier: Apache-2.0
// A sample has a place in a code object. Its kernel is the last one that begins at or before it: entries of kernels come with their
// names while code is loaded. One lock keeps that apart from the tracer's thread.
#include "tracers/rocm/samples.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/scoped.h"
#include "tracers/annotations/guest_table.h"
#include "tracers/device/tracks.h"
#include "tracers/rocm/agents.h"
#include "tracers/rocm/calls.h"
#include "tracers/rocm/symbols.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xsp/call_path.h>

#define SLOTS (UINT32_C(1) << 16)
#define PUBLISH_NS UINT64_C(5000000000) // what a SIGKILL may lose
#define HOST_US 100u
#define STOCHASTIC_CYCLES (UINT64_C(1) << 20) // AMD's example

struct entry {
  uint64_t offset, kernel_id;
};
struct code { // kept: samples may come after it was unloaded
  uint64_t base;
  int32_t gpu;
  size_t count, capacity;
  struct entry *entries; // in any order: few, and looked at once for each instruction
};
struct instruction {
  struct rocm_sampled_place place;
  const struct code *code;
  uint32_t path;
  uint64_t samples, issued, reasons[ROCM_SAMPLE_REASONS]; // since it was published
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of code
static struct guest_map codes = {.capacity = UINT32_C(1) << 16};
static struct instruction *slots[SLOTS]; // the tracer's thread
static uint32_t instruction_count;
static bool is_on, is_asked; // atomic
uint64_t rocm_samples_lost;

bool rocm_samples_are_on(void)
{
  return __atomic_load_n(&is_on, __ATOMIC_ACQUIRE);
}

// ---- code, on the program's threads
static void note_kernel(const struct rocm_symbol_long *symbol)
{
  SCOPED_LOCK(&lock);
  struct code *code = guest_map_get(&codes, (const void *)(uintptr_t)symbol->symbol.code_object_id);
  if (code == NULL || symbol->symbol.size < sizeof *symbol || symbol->entry < code->base)
    return;
  if (code->count == code->capacity) {
    size_t capacity = code->capacity == 0 ? 16 : 2 * code->capacity;
    struct entry *entries = realloc(code->entries, capacity * sizeof *entries);
    if (entries == NULL)
      return;
    code->entries = entries;
    code->capacity = capacity;
  }
  code->entries[code->count++] = (struct entry){symbol->entry - code->base, symbol->symbol.kernel_id};
}

void rocm_samples_note_code(uint32_t operation, const void *payload)
{
  if (operation == ROCM_CODE_KERNEL)
    note_kernel(payload);
  const struct rocm_code *loaded = payload;
  struct code *code = operation == ROCM_CODE_LOADED && loaded->size >= sizeof *loaded ? calloc(1, sizeof *code) : NULL;
  if (code == NULL)
    return;
  code->base = loaded->base;
  code->gpu = rocm_agent_gpu(loaded->agent);
  if (!guest_map_put(&codes, (const void *)(uintptr_t)loaded->code_object_id, code))
    free(code);
}

// ---- samples
bool rocm_samples_read(const struct rocm_header *header, struct rocm_sample *ret_sample)
{
  *ret_sample = (struct rocm_sample){.head = {.size = sizeof *ret_sample, .kind = ROCM_SAMPLE_KIND}};
  const struct rocm_sample_by_host *by_host = header->payload;
  const struct rocm_sample_stochastic *stochastic = header->payload;
  if (!rocm_samples_are_on() || header->payload == NULL)
    return false;
  if (header->kind == ROCM_SAMPLE_BY_HOST && by_host->size >= sizeof *by_host) {
    ret_sample->place = by_host->place;
    ret_sample->reason = ROCM_SAMPLE_REASONS;
  } else if (header->kind == ROCM_SAMPLE_STOCHASTIC && stochastic->size >= sizeof *stochastic) {
    ret_sample->place = stochastic->place;
    ret_sample->is_issued = stochastic->issue & ROCM_SAMPLE_ISSUED;
    ret_sample->reason = stochastic->snapshot & 15u;
  } else
    return false;
  if (ret_sample->place.code_object_id == 0)
    __atomic_add_fetch(&rocm_samples_lost, 1, __ATOMIC_RELAXED);
  return ret_sample->place.code_object_id != 0;
}

static bool is_same(const void *entry, const void *key)
{
  return memcmp(&((const struct instruction *)entry)->place, key, sizeof(struct rocm_sampled_place)) == 0;
}

// Of the kernel, and below it the instruction. 0: not known.
static uint32_t path_of(const struct code *code, uint64_t offset)
{
  const struct entry *found = NULL;
  for (size_t i = 0; i < code->count; i++)
    if (code->entries[i].offset <= offset && (found == NULL || code->entries[i].offset > found->offset))
      found = &code->entries[i];
  const struct rocm_kernel_symbol *symbol = found == NULL ? NULL : rocm_symbol_of(found->kernel_id);
  if (symbol == NULL)
    return 0;
  char name[32];
  struct xsp_frame frame = {.size = sizeof frame, .kind = XSP_FRAME_DEVICE, .name = symbol->name};
  uint32_t kernel = xsp_call_path(0, &frame);
  snprintf(name, sizeof name, "+0x%llx", (unsigned long long)(offset - found->offset));
  frame.name = name;
  frame.address = offset - found->offset;
  return kernel == 0 ? 0 : xsp_call_path(kernel, &frame);
}

static struct instruction *instruction_of(const struct rocm_sampled_place *place)
{
  uint32_t hash = (uint32_t)hash_text((const char *)place, sizeof *place, 0);
  struct instruction *known = guest_find((void **)slots, SLOTS, hash, is_same, place);
  if (known != NULL || instruction_count >= SLOTS / 4 * 3)
    return known;
  SCOPED_LOCK(&lock);
  const struct code *code = guest_map_get(&codes, (const void *)(uintptr_t)place->code_object_id);
  uint32_t path = code == NULL ? 0 : path_of(code, place->offset);
  struct instruction *fresh = path == 0 ? NULL : calloc(1, sizeof *fresh);
  if (fresh == NULL)
    return NULL;
  fresh->place = *place;
  fresh->code = code;
  fresh->path = path;
  return guest_add((void **)slots, SLOTS, &instruction_count, hash, is_same, place, fresh);
}

void rocm_samples_add(const struct rocm_sample *sample)
{
  struct instruction *instruction = instruction_of(&sample->place);
  if (instruction == NULL) {
    __atomic_add_fetch(&rocm_samples_lost, 1, __ATOMIC_RELAXED);
    return;
  }
  instruction->samples++;
  instruction->issued += sample->is_issued;
  if (!sample->is_issued && sample->reason < ROCM_SAMPLE_REASONS)
    instruction->reasons[sample->reason]++;
}

static void publish(struct instruction *instruction, uint64_t now)
{
  XSP_SITE_FULL(sampled, XSP_LEVEL_KERNEL, "instruction samples", "samples", ROCM_TRACER);
  static const char *const keys[ROCM_SAMPLE_REASONS] = {NULL,
                                                        "samples_no_instruction_available",
                                                        "samples_alu_dependency",
                                                        "samples_waitcnt",
                                                        "samples_internal_instruction",
                                                        "samples_barrier_wait",
                                                        "samples_arbiter_not_win",
                                                        "samples_arbiter_win_ex_stall",
                                                        "samples_other_wait",
                                                        "samples_sleep_wait"};
  int32_t gpu = instruction->code->gpu;
  struct device_place place = {.device = gpu < 0 ? 0 : (uint32_t)gpu, .what = " samples"};
  struct xsp_interval interval = {.size = sizeof interval,
                                  .track = device_track(&place),
                                  .clock = XSP_CLOCK_REALTIME,
                                  .start = now,
                                  .end = now,
                                  .call_path = instruction->path};
  struct xsp_span span = xsp_span_emit(&sampled, &interval);
  xsp_span_tag_int(&span, "samples", (int64_t)instruction->samples);
  if (instruction->issued > 0)
    xsp_span_tag_int(&span, "samples_selected", (int64_t)instruction->issued);
  for (uint32_t i = 1; i < ROCM_SAMPLE_REASONS; i++)
    if (instruction->reasons[i] > 0)
      xsp_span_tag_int(&span, keys[i], (int64_t)instruction->reasons[i]);
  instruction->samples = instruction->issued = 0;
  memset(instruction->reasons, 0, sizeof instruction->reasons);
}

void rocm_samples_ask(void)
{
  __atomic_store_n(&is_asked, true, __ATOMIC_RELEASE);
}

bool rocm_samples_are_due(bool is_ending)
{
  static uint64_t due_ns;
  uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
  bool is_wanted = __atomic_exchange_n(&is_asked, false, __ATOMIC_ACQ_REL) || is_ending || now_ns >= due_ns;
  if (is_wanted)
    due_ns = now_ns + PUBLISH_NS;
  return is_wanted && rocm_samples_are_on();
}

void rocm_samples_publish(void)
{
  uint64_t now = clock_now_ns(CLOCK_REALTIME);
  for (uint32_t i = 0; i < SLOTS; i++)
    if (slots[i] != NULL && slots[i]->samples > 0)
      publish(slots[i], now);
}

// ---- the beginning
struct choice {
  const char *method;
  struct rocm_sample_config config; // method 0: none fits
};

static int choose(const struct rocm_sample_config *configs, size_t count, void *data)
{
  struct choice *choice = data;
  for (size_t i = 0; i < count; i++) {
    bool is_host = configs[i].method == ROCM_HOST_TRAP, is_stochastic = configs[i].method == ROCM_STOCHASTIC;
    bool fits = (is_host && strcmp(choice->method, "stochastic") != 0) ||
                (is_stochastic && strcmp(choice->method, "host") != 0);
    if (fits && (choice->config.method == 0 || is_stochastic))
      choice->config = configs[i];
  }
  return ROCM_OK;
}

static uint64_t interval_of(const struct rocm_sample_config *config, uint64_t wished)
{
  uint64_t interval = wished != 0 ? wished : config->method == ROCM_HOST_TRAP ? HOST_US : STOCHASTIC_CYCLES;
  interval = interval < config->least ? config->least : interval > config->most ? config->most : interval;
  while ((config->flags & ROCM_SAMPLES_POWER_OF_2) != 0 && (interval & (interval - 1)) != 0)
    interval &= interval - 1; // the next lower one
  return interval < config->least ? interval << 1 : interval;
}

void rocm_samples_start(const struct rocm *rocm, struct rocm_id context, struct rocm_id buffer, const char *method,
                        uint64_t interval, void (*say)(const char *line))
{
  struct rocm_id agent;
  char line[240];
  if (rocm->version < ROCM_VERSION_LONG_IDS || rocm->each_sample_config == NULL || rocm->sample == NULL) {
    say("instructions are not sampled: rocprofiler-sdk 1.0 (ROCm 7) is needed");
    return;
  }
  for (int32_t gpu = 0; rocm_agent_of(gpu, &agent); gpu++) {
    struct choice choice = {.method = method};
    int error = rocm->each_sample_config(agent, choose, &choice);
    const struct rocm_sample_config *config = &choice.config;
    if (error == ROCM_OK && config->method != 0)
      error = rocm->sample(context, agent, config->method, config->unit, interval_of(config, interval), buffer, 0);
    if (error == ROCM_OK && config->method != 0) {
      __atomic_store_n(&is_on, true, __ATOMIC_RELEASE); // threads that read records run already
      continue;
    }
    if (error == ROCM_OK)
      snprintf(line, sizeof line, "GPU %d: instructions are not sampled: it does not have the method %s", gpu, method);
    else
      snprintf(line, sizeof line, "GPU %d: instructions are not sampled: rocprofiler-sdk refuses, error %d%s", gpu,
               error,
               getenv("ROCPROFILER_PC_SAMPLING_BETA_ENABLED") == NULL
                   ? "; AMD wants ROCPROFILER_PC_SAMPLING_BETA_ENABLED=1 for it"
                   : "");
    say(line);
  }
}
