// SPDX-License-Identifier: Apache-2.0
// The profiler's switching and reading; see tracer_profile.h. Predictions wait in a fixed table until there are enough of them or
// a while has passed; then, between two predictions, the profile is ended, read, published and begun anew.
//
// The profile goes through a file, as MXNet has no other way: in the session's folder, for the moment of its reading.
#include "frameworks/mxnet/tracer_profile.h"

#include "base/clock.h"
#include "base/scoped.h"
#include "base/sorted.h"
#include "base/transfer.h"
#include "frameworks/common/guest.h"
#include "frameworks/mxnet/layers.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAITING_MAXIMUM 1024u
#define WAITING_ENOUGH 256u
#define OPERATORS_ENOUGH 16384u // about 10 MB of MXNet's text
#define WAIT_US 1000000
#define TEXT_BYTES_MAXIMUM ((off_t)1 << 32)
#define EVENTS_BYTES_MAXIMUM ((size_t)1 << 30)

static const struct mxnet_functions *mx;
static char path[4096];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of switching, reading and publishing
static uint32_t epoch, epochs;                           // atomic; epoch 0: the profiler is off
static bool is_programs;                                 // atomic: the profiler is the program's
static bool has_ended;
static int64_t began_us;
static struct prediction waiting[WAITING_MAXIMUM];
static uint32_t waiting_count; // atomic; claimed places, those above the maximum were lost
static uint32_t ready_count;   // atomic
static uint64_t operators_waiting, lost;
static struct layer_publisher *publisher;
static char *beginning;                           // of the first profile; NULL: there was none
static char programs_file[4096] = "profile.json"; // MXNet's default

bool mxnet_profile_layers_possible(void)
{
  return (xsp_session_levels() & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) != 0;
}

static bool is_wanted(void)
{
  return (xsp_tracer_levels("mxnet") & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) != 0 &&
         !__atomic_load_n(&is_programs, __ATOMIC_ACQUIRE);
}

// What the parent of this process waits for is its own.
static void forked(void)
{
  pthread_mutex_init(&lock, NULL);
  waiting_count = ready_count = 0;
  operators_waiting = 0;
  epoch = 0;
}

void mxnet_profile_start(const struct mxnet_functions *functions, const char *session)
{
  static char folder[sizeof path - 32];
  mx = functions;
  snprintf(folder, sizeof folder, "%s", session != NULL ? session : "");
  snprintf(path, sizeof path, "%s/tracer-%d", folder, (int)getpid());
  const char *own = getenv("MXNET_PROFILER_AUTOSTART");
  if (own != NULL && strcmp(own, "0") != 0 && mxnet_profile_layers_possible()) {
    is_programs = true;
    guest_report("MXNET_PROFILER_AUTOSTART is set: the program has the profiler, and layers are not recorded");
  }
  pthread_atfork(NULL, NULL, forked);
}

// ---- switching -------------------------------------------------------------------------------------------------------

// MXNet's naive engine records an operator of a model as such and once more as one that was called by itself, which it records
// of each.
static bool configure(const char *file)
{
  const char *engine = getenv("MXNET_ENGINE_TYPE");
  const char *symbolic = engine != NULL && strcmp(engine, "NaiveEngine") == 0 ? "False" : "True";
  const char *const keys[] = {"filename",    "profile_symbolic", "profile_imperative", "profile_memory",
                              "profile_api", "aggregate_stats",  "continuous_dump"};
  const char *const values[] = {file, symbolic, "True", "False", "False", "False", "False"};
  return mx->SetProcessProfilerConfig(sizeof keys / sizeof keys[0], keys, values, NULL) == 0;
}

static void switch_on(void)
{
  char *number = strrchr(path, '-'); // a child has a file of its own
  snprintf(number, sizeof path - (size_t)(number - path), "-%d", (int)getpid());
  if (!configure(path) || mx->SetProcessProfilerState(1, 0, NULL) != 0) {
    __atomic_store_n(&is_programs, true, __ATOMIC_RELEASE);
    guest_report("MXNet's profiler cannot be switched on: layers are not recorded");
    return;
  }
  began_us = (int64_t)(clock_now_ns(CLOCK_REALTIME) / 1000);
  epochs++;
  __atomic_store_n(&epoch, epochs != 0 ? epochs : ++epochs, __ATOMIC_RELEASE);
}

// ---- reading ---------------------------------------------------------------------------------------------------------

static char *read_file(const char *file, size_t *ret_length)
{
  int fd SCOPED(scoped_close) = open(file, O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (fd < 0)
    return NULL;
  char *text = NULL;
  size_t length = 0;
  if (fstat(fd, &info) == 0 && info.st_size <= TEXT_BYTES_MAXIMUM && (text = malloc((size_t)info.st_size + 1)) != NULL)
    length = transfer_read(fd, text, (size_t)info.st_size);
  if (text != NULL)
    text[length] = 0;
  *ret_length = length;
  return text;
}

// The text before the first event of the process's first profile.
static void keep_beginning(const char *text)
{
  const char *event = strstr(text, "\"cat\""), *open = event;
  while (open != NULL && open > text && *open != '{')
    open--;
  while (open != NULL && open > text && *open != ',' && *open != '[')
    open--;
  if (event != NULL && open > text)
    beginning = strndup(text, (size_t)(open - text) + (*open == '['));
}

static enum status publish_one(const struct prediction *prediction, const struct mxnet_event *events, size_t count,
                               const struct thread_table *threads)
{
  struct pool pool SCOPED(framework_pool_done) = {.maximum_bytes = EVENTS_BYTES_MAXIMUM};
  size_t operator_count = 0, used = 0;
  for (unsigned i = 0; i < prediction->model_count; i++)
    operator_count += prediction->models[i]->operator_count;
  struct mxnet_node *operators = framework_pool_alloc(&pool, operator_count + 1, sizeof *operators);
  for (unsigned i = 0; i < prediction->model_count && operators != NULL; i++) {
    const struct model *model = prediction->models[i];
    if (model->operator_count > 0)
      memcpy(operators + used, model->operators, model->operator_count * sizeof *operators);
    used += model->operator_count;
  }
  return mxnet_layers_publish(publisher, events, count, threads, operators, NULL, used, prediction->span, NULL);
}

SORTED_BY(by_start, struct prediction, RISING(start_us))

static bool starts_within(const struct prediction *prediction, int64_t time_us)
{
  return time_us >= prediction->start_us && time_us <= prediction->end_us;
}

// Events of overlapping predictions are dropped: they could belong to either.
static void publish(const struct mxnet_profile *profile, size_t count, const struct thread_table *threads)
{
  static bool was_reported;
  size_t kept = 0, at = 0;
  for (size_t i = 0; i < profile->count; i++)
    if (!mxnet_is_housekeeping(profile->events[i].name))
      profile->events[kept++] = profile->events[i];
  qsort(waiting, count, sizeof waiting[0], by_start);
  int64_t latest_end = INT64_MIN;
  for (size_t i = 0; i < count; i++) {
    const struct prediction *prediction = &waiting[i];
    bool is_alone =
        prediction->start_us > latest_end && (i + 1 == count || waiting[i + 1].start_us > prediction->end_us);
    latest_end = prediction->end_us > latest_end ? prediction->end_us : latest_end;
    while (at < kept && profile->events[at].start_us < prediction->start_us)
      at++;
    size_t first = at;
    while (at < kept && starts_within(prediction, profile->events[at].start_us))
      at++;
    if (!is_alone && !was_reported) {
      was_reported = true;
      guest_report("predictions on several threads overlap: their layers cannot be told apart and are left out");
    }
    if (is_alone && prediction->span.id != 0 &&
        publish_one(prediction, profile->events + first, at - first, threads) != STATUS_OK)
      lost++;
  }
}

static void read_and_publish(size_t count)
{
  static const struct layer_publisher_options publishing = {"mxnet", MXNET_UNTOLD, LAYER_TIMES_REALTIME};
  struct pool pool SCOPED(framework_pool_done) = {.maximum_bytes = EVENTS_BYTES_MAXIMUM};
  const struct thread_table threads = framework_threads_list(&pool);
  struct mxnet_profile profile = {0};
  size_t length = 0;
  char *text = read_file(path, &length);
  unlink(path);
  if (text != NULL && beginning == NULL)
    keep_beginning(text);
  if (publisher == NULL)
    publisher = framework_layer_publisher_create(&publishing);
  if (text == NULL || publisher == NULL || mxnet_profile_read(text, length, path, &pool, &profile, NULL) != STATUS_OK)
    lost += count;
  else
    publish(&profile, count, &threads);
  free(text);
}

// Under the lock.
static void switch_off(void)
{
  __atomic_store_n(&epoch, 0, __ATOMIC_RELEASE);
  bool has_text = mx->SetProcessProfilerState(0, 0, NULL) == 0 && mx->DumpProcessProfile(0, 0, NULL) == 0;
  uint32_t count = __atomic_load_n(&ready_count, __ATOMIC_ACQUIRE);
  if (has_text)
    read_and_publish(count);
  else
    lost += count;
  uint32_t claimed = __atomic_load_n(&waiting_count, __ATOMIC_RELAXED);
  lost += claimed > count ? claimed - count : 0;
  operators_waiting = 0;
  memset(waiting, 0, sizeof waiting); // a place that is claimed and not yet written names no model that may be gone
  __atomic_store_n(&ready_count, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&waiting_count, 0, __ATOMIC_RELEASE);
}

bool mxnet_profile_is_idle(void)
{
  return __atomic_load_n(&waiting_count, __ATOMIC_ACQUIRE) == 0;
}

// ---- predictions -----------------------------------------------------------------------------------------------------

uint32_t mxnet_profile_before(void)
{
  uint32_t now = __atomic_load_n(&epoch, __ATOMIC_ACQUIRE);
  bool wanted = is_wanted();
  if (wanted == (now != 0) || has_ended || pthread_mutex_trylock(&lock) != 0)
    return now;
  if (wanted && epoch == 0)
    switch_on();
  else if (!wanted && epoch != 0)
    switch_off();
  pthread_mutex_unlock(&lock);
  return __atomic_load_n(&epoch, __ATOMIC_ACQUIRE);
}

void mxnet_profile_add(const struct prediction *prediction)
{
  if (prediction->epoch == 0 || prediction->epoch != __atomic_load_n(&epoch, __ATOMIC_ACQUIRE))
    return;
  uint32_t place = __atomic_fetch_add(&waiting_count, 1, __ATOMIC_ACQ_REL);
  if (place >= WAITING_MAXIMUM)
    return;
  waiting[place] = *prediction;
  for (unsigned i = 0; i < prediction->model_count; i++)
    __atomic_fetch_add(&operators_waiting, prediction->models[i]->operator_count, __ATOMIC_RELAXED);
  __atomic_fetch_add(&ready_count, 1, __ATOMIC_ACQ_REL);
}

void mxnet_profile_after(bool nobody_predicts)
{
  uint32_t count = __atomic_load_n(&waiting_count, __ATOMIC_ACQUIRE);
  bool is_time = count >= WAITING_ENOUGH || operators_waiting >= OPERATORS_ENOUGH ||
                 (int64_t)(clock_now_ns(CLOCK_REALTIME) / 1000) - began_us > WAIT_US;
  if (count == 0 || !is_time || !nobody_predicts || pthread_mutex_trylock(&lock) != 0)
    return;
  if (epoch != 0) {
    switch_off();
    mxnet_models_sweep();
    if (is_wanted())
      switch_on();
  }
  pthread_mutex_unlock(&lock);
}

// MXNet's default.
static void restore(void)
{
  const char *const keys[] = {"filename"};
  const char *const values[] = {"profile.json"};
  (void)mx->SetProcessProfilerConfig(1, keys, values, NULL);
}

void mxnet_profile_give_up(void)
{
  if (__atomic_exchange_n(&is_programs, true, __ATOMIC_ACQ_REL))
    return;
  pthread_mutex_lock(&lock);
  if (epoch != 0)
    switch_off();
  if (epochs != 0)
    restore();
  pthread_mutex_unlock(&lock);
  if (mxnet_profile_layers_possible())
    guest_report("the program uses MXNet's profiler itself: layers are recorded up to there");
}

void mxnet_profile_note_file(int count, const char *const *keys, const char *const *values)
{
  snprintf(programs_file, sizeof programs_file, "%s", "profile.json");
  for (int i = 0; i < count; i++)
    if (strcmp(keys[i], "filename") == 0)
      snprintf(programs_file, sizeof programs_file, "%s", values[i]);
}

// In its place, so that it stays the same file.
void mxnet_profile_mend_file(void)
{
  SCOPED_LOCK(&lock);
  size_t length = 0, size = beginning != NULL ? strlen(beginning) : 0;
  char *text = size > 0 ? read_file(programs_file, &length) : NULL;
  char *whole = text != NULL && text[0] == ',' ? malloc(size + length) : NULL;
  int fd SCOPED(scoped_close) = whole != NULL ? open(programs_file, O_WRONLY | O_CLOEXEC) : -1;
  if (fd >= 0) {
    bool has_events = beginning[size - 1] == '}' || memchr(beginning, '}', size) != NULL;
    memcpy(whole, beginning, size);
    memcpy(whole + size, text + (has_events ? 0 : 1), length - (has_events ? 0 : 1));
    (void)transfer_write_at(fd, whole, size + length - (has_events ? 0 : 1), 0);
  }
  free(whole);
  free(text);
}

void mxnet_profile_end(void)
{
  if (has_ended || pthread_mutex_trylock(&lock) != 0)
    return;
  has_ended = true;
  if (epoch != 0) {
    switch_off();
    restore();
  }
  if (lost > 0) {
    char line[128];
    snprintf(line, sizeof line, "layers of %llu predictions were lost", (unsigned long long)lost);
    guest_report(line);
  }
  pthread_mutex_unlock(&lock);
}
