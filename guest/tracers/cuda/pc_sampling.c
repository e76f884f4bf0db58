// SPDX-License-Identifier: Apache-2.0
// Contexts begin and end, and modules come and go, on the program's threads; samples are taken by the tracer's. One lock keeps
// them apart. CUPTI has locks of its own and holds them during callbacks, so that those wait for ours a bounded time.
#include "tracers/cuda/pc_sampling.h"

#include "base/clock.h"
#include "tracers/cuda/host_profiler.h"
#include "tracers/cuda/pc_launches.h"
#include "tracers/cuda/pc_lines.h"
#include "tracers/cuda/pc_table.h"
#include "tracers/device/host.h"
#include "tracers/device/tracks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CONTEXTS_MOST 64u
#define RECORDS 1024u                   // taken at once
#define ROUNDS_MOST 1024u               // of taking, in one look
#define PUBLISH_NS UINT64_C(5000000000) // what a SIGKILL may lose
#define CALLBACK_WAITS_NS UINT64_C(200000000)

struct sampled {
  void *context;
  bool is_over; // atomic: the context is not CUPTI's any more
  uint32_t device;
  size_t reason_count;
  struct pc_table table;
  struct pc_data taken, rest; // `rest`: what CUPTI has at the end
};
static struct sampled *sampled[CONTEXTS_MOST];
static uint32_t sampled_count; // atomic: grows under the lock
static struct cupti cupti;     // without the functions: nothing is sampled
static struct pc_wish wish;
static bool is_asked; // atomic
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t owner; // atomic; 0: nothing is sampled
static struct {
  uint64_t dropped;       // samples, by the device
  uint64_t lost;          // samples without room here, or of no known reason
  uint64_t full;          // times the device's buffer was full
  uint64_t others;        // contexts of a device that had one already
  uint64_t failed;        // times CUPTI gave no samples for another reason; the last is `error`
  uint64_t unreadable;    // contexts whose records have another length
  uint64_t late;          // atomic: contexts and modules that ended while another thread was reading
  uint64_t without_lines; // modules whose lines had no room
  uint32_t error;
} counts;

static bool lock_in_time(void)
{
  uint64_t at = clock_now_ns(CLOCK_REALTIME) + CALLBACK_WAITS_NS;
  const struct timespec limit = {(time_t)(at / 1000000000), (long)(at % 1000000000)};
  return pthread_mutex_timedlock(&lock, &limit) == 0;
}

static bool is_over(const struct sampled *one)
{
  return __atomic_load_n(&one->is_over, __ATOMIC_ACQUIRE);
}

// Without the lock: nothing may be asked about it any more.
static void give_up(const void *context)
{
  __atomic_add_fetch(&counts.late, 1, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < __atomic_load_n(&sampled_count, __ATOMIC_ACQUIRE); i++)
    if (sampled[i]->context == context)
      __atomic_store_n(&sampled[i]->is_over, true, __ATOMIC_RELEASE);
}

// ---- taking
static size_t record_bytes(void)
{
  return cupti.version >= PC_LONG_SINCE ? sizeof(struct pc_record) : PC_RECORD_BYTES_BEFORE;
}

static struct pc_record *record_at(const struct pc_data *data, size_t place)
{
  return (void *)((char *)data->records + place * record_bytes());
}

static bool make_data(struct pc_data *data, size_t reason_count)
{
  struct pc_stall *stalls = calloc(RECORDS * reason_count, sizeof *stalls);
  data->records = calloc(RECORDS, sizeof *data->records);
  if (stalls == NULL || data->records == NULL) {
    free(stalls);
    free(data->records);
    return false;
  }
  data->size = cupti.version >= PC_LONG_SINCE ? sizeof *data : PC_DATA_BYTES_BEFORE;
  data->wanted = RECORDS;
  for (size_t i = 0; i < RECORDS; i++) {
    record_at(data, i)->size = record_bytes();
    record_at(data, i)->stalls = stalls + i * reason_count;
  }
  return true;
}

// A library with records of another length would have written over what we put there.
static bool is_whole(const struct sampled *from, const struct pc_data *data, size_t place)
{
  const struct pc_record *record = record_at(data, place);
  return record->size == record_bytes() && record->stalls == data->records->stalls + place * from->reason_count &&
         record->stall_count <= from->reason_count;
}

static void take(struct sampled *from, struct pc_data *data)
{
  size_t count = data->count < RECORDS ? data->count : RECORDS;
  for (size_t i = 0; i < count; i++) {
    if (!is_whole(from, data, i)) {
      counts.unreadable++;
      __atomic_store_n(&from->is_over, true, __ATOMIC_RELEASE);
      break;
    }
    struct pc_record *record = record_at(data, i);
    bool names_launch = wish.mode == PC_SERIALIZED && cupti.version >= PC_LONG_SINCE;
    pc_table_add(&from->table, &cupti, record, names_launch ? pc_launches_path(record->correlation_id) : 0);
    record->stall_count = 0;
  }
  counts.dropped += data->dropped;
  data->count = data->dropped = 0;
}

static void take_all(struct sampled *from)
{
  struct pc_get get = {sizeof get, NULL, from->context, &from->taken};
  for (uint32_t round = 0; !is_over(from) && round < ROUNDS_MOST; round++) {
    from->taken.remaining = 0;
    uint32_t result = cupti.pc_get_data(&get);
    if (result == CUPTI_NO_MEMORY) {
      counts.full++;
    } else if (result != CUPTI_OK) {
      counts.failed++;
      counts.error = result;
      return;
    }
    take(from, &from->taken);
    if (from->taken.remaining == 0)
      return;
  }
}

static void end(struct sampled *ended)
{
  struct pc_context params = {sizeof params, NULL, ended->context};
  take_all(ended);
  if (!is_over(ended) && cupti.pc_disable(&params) == CUPTI_OK)
    take(ended, &ended->rest);
  __atomic_store_n(&ended->is_over, true, __ATOMIC_RELEASE);
}

// ---- beginning
static uint32_t name_reasons(struct sampled *fresh)
{
  struct pc_reason_count asked = {sizeof asked, NULL, fresh->context, &fresh->reason_count};
  uint32_t numbers[PC_REASONS_MOST] = {0}, result = cupti.pc_count_reasons(&asked);
  if (result != CUPTI_OK || fresh->reason_count > PC_REASONS_MOST)
    return result != CUPTI_OK ? result : CUPTI_NOT_COMPATIBLE;
  char *texts = calloc(fresh->reason_count, PC_REASON_NAME_BYTES), *names[PC_REASONS_MOST];
  if (texts == NULL)
    return CUPTI_NO_MEMORY;
  for (size_t i = 0; i < fresh->reason_count; i++)
    names[i] = texts + i * PC_REASON_NAME_BYTES;
  struct pc_reasons params = {sizeof params, NULL, fresh->context, fresh->reason_count, numbers, names};
  result = cupti.pc_get_reasons(&params);
  for (size_t i = 0; result == CUPTI_OK && i < fresh->reason_count; i++)
    pc_table_name(&fresh->table, numbers[i], names[i]);
  free(texts);
  return result;
}

static uint32_t configure(struct sampled *fresh)
{
  uint32_t result = name_reasons(fresh);
  if (result != CUPTI_OK)
    return result;
  if (!make_data(&fresh->taken, fresh->reason_count) || !make_data(&fresh->rest, fresh->reason_count))
    return CUPTI_NO_MEMORY;
  struct pc_setting settings[] = {{.type = PC_MODE, .value.number = wish.mode},
                                  {.type = PC_FORMAT, .value.number = PC_PARSED},
                                  {.type = PC_DATA, .value.data = &fresh->rest},
                                  {.type = PC_PERIOD, .value.number = wish.period}}; // the last where it is wished
  struct pc_settings params = {sizeof params, NULL, fresh->context, wish.period != 0 ? 4 : 3, settings};
  return cupti.pc_set(&params);
}

static bool is_taken(uint32_t device)
{
  for (uint32_t i = 0; i < sampled_count; i++)
    if (sampled[i]->device == device && !is_over(sampled[i]))
      return true;
  return false;
}

static void begin(void *context)
{
  char line[400];
  uint32_t device = 0;
  bool has_device = cupti.get_device_id != NULL && cupti.get_device_id(context, &device) == CUPTI_OK;
  struct sampled *fresh =
      sampled_count < CONTEXTS_MOST && !(has_device && is_taken(device)) ? calloc(1, sizeof *fresh) : NULL;
  if (fresh == NULL) {
    counts.others++;
    return;
  }
  fresh->context = context;
  fresh->device = device;
  struct pc_context params = {sizeof params, NULL, context};
  const char *call = "cuptiPCSamplingEnable";
  uint32_t result = cupti.pc_enable(&params);
  if (result == CUPTI_OK) {
    call = "its configuration";
    result = configure(fresh);
    if (result != CUPTI_OK)
      cupti.pc_disable(&params);
  }
  if (result == CUPTI_OK) {
    sampled[sampled_count] = fresh;
    __atomic_store_n(&sampled_count, sampled_count + 1, __ATOMIC_RELEASE);
    return;
  }
  const char *advice = result == CUPTI_NOT_COMPATIBLE
                           ? "before CUDA 12.8 not together with kernels (--cuda activities=)"
                           : host_profiler_advice(result);
  snprintf(line, sizeof line, "instructions are not sampled: %s: error %u%s%s", call, result,
           advice[0] != '\0' ? ": " : "", advice);
  wish.say(line);
  free(fresh);
}

void pc_start(const struct cupti *used, const struct pc_wish *wished)
{
  static const uint32_t callbacks[] = {CUPTI_CONTEXT_BEGINS, CUPTI_CONTEXT_ENDS, CUPTI_MODULE_LOADED,
                                       CUPTI_MODULE_UNLOADS};
  if (used->enable_callback == NULL || used->pc_enable == NULL || used->pc_disable == NULL || used->pc_set == NULL ||
      used->pc_count_reasons == NULL || used->pc_get_reasons == NULL || used->pc_get_data == NULL) {
    wished->say("instructions are not sampled: this CUPTI cannot");
    return;
  }
  cupti = *used;
  wish = *wished;
  __atomic_store_n(&owner, getpid(), __ATOMIC_RELEASE);
  for (size_t i = 0; i < sizeof callbacks / sizeof callbacks[0]; i++)
    cupti.enable_callback(1, cupti.subscriber, CUPTI_DOMAIN_RESOURCE, callbacks[i]);
  if (wish.mode == PC_SERIALIZED)
    pc_launches_start(&cupti);
}

static void launch_callback(const struct cupti_call *call)
{
  if (!call->is_exit) {
    pc_launches_note(call->correlation_id);
    return;
  }
  if (!lock_in_time()) {
    give_up(NULL);
    return;
  }
  for (uint32_t i = 0; i < sampled_count; i++) // the kernel has ended; CUPTI wants its samples read before the next
    if (sampled[i]->context == call->context)
      take_all(sampled[i]);
  pthread_mutex_unlock(&lock);
}

static void resource_callback(uint32_t cbid, const struct cupti_resource *resource)
{
  if (!lock_in_time()) {
    give_up(cbid == CUPTI_CONTEXT_ENDS ? resource->context : NULL);
    return;
  }
  if (cbid == CUPTI_CONTEXT_BEGINS)
    begin(resource->context);
  for (uint32_t i = 0; i < sampled_count; i++)
    if (cbid == CUPTI_MODULE_UNLOADS) // its code's place may be another's soon
      take_all(sampled[i]);
    else if (cbid == CUPTI_CONTEXT_ENDS && sampled[i]->context == resource->context && !is_over(sampled[i]))
      end(sampled[i]);
  if (cbid == CUPTI_MODULE_LOADED && resource->descriptor != NULL)
    counts.without_lines += !pc_lines_keep(&cupti, resource->descriptor);
  pthread_mutex_unlock(&lock);
}

void pc_sampling_callback(uint32_t domain, uint32_t cbid, const void *details)
{
  bool is_of_module = cbid == CUPTI_MODULE_LOADED || cbid == CUPTI_MODULE_UNLOADS;
  if (details == NULL || __atomic_load_n(&owner, __ATOMIC_ACQUIRE) != getpid())
    return;
  if (domain == CUPTI_DOMAIN_RESOURCE && (is_of_module || cbid == CUPTI_CONTEXT_BEGINS || cbid == CUPTI_CONTEXT_ENDS))
    resource_callback(cbid, details);
  else if (domain == CUPTI_DOMAIN_DRIVER && wish.mode == PC_SERIALIZED)
    launch_callback(details);
}

// ---- the tracer's thread
void pc_ask(void)
{
  __atomic_store_n(&is_asked, true, __ATOMIC_RELEASE);
}

void pc_look(bool is_ending)
{
  static uint64_t published;
  static const char what[] = " samples";
  uint64_t now = clock_now_ns(CLOCK_MONOTONIC);
  bool publishes =
      __atomic_exchange_n(&is_asked, false, __ATOMIC_ACQ_REL) || is_ending || now - published >= PUBLISH_NS;
  pthread_mutex_lock(&lock);
  for (uint32_t i = 0; i < sampled_count; i++) {
    if (is_ending)
      end(sampled[i]);
    else
      take_all(sampled[i]);
    if (publishes)
      pc_table_publish(&sampled[i]->table,
                       device_track(&(struct device_place){.device = sampled[i]->device, .what = what}));
    counts.lost += sampled[i]->table.lost;
    sampled[i]->table.lost = 0;
  }
  pthread_mutex_unlock(&lock);
  if (publishes)
    published = now;
}

void pc_sampling_say(const struct xsp_host *host)
{
  char line[200];
  host_say_count(host, counts.dropped, "samples of instructions were dropped by the device (option sampling_period)");
  host_say_count(
      host, counts.full,
      "times the device's buffer of samples was full: what it would have had is missing (option sampling_period)");
  host_say_count(host, counts.others, "contexts were not sampled: CUPTI samples one of a device");
  host_say_count(host, counts.lost, "samples of instructions had no room");
  host_say_count(host, counts.unreadable,
                 "contexts gave samples that cannot be read: this CUPTI's records have another length");
  host_say_count(host, counts.late, "contexts or modules ended while samples were read: the last may be missing");
  host_say_count(host, counts.without_lines, "modules are too large for their lines of source");
  if (counts.failed == 0)
    return;
  snprintf(line, sizeof line, "%llu times CUPTI gave no samples of instructions: error %u",
           (unsigned long long)counts.failed, counts.error);
  host_say(host, line);
}
