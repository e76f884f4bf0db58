// SPDX-License-Identifier: Apache-2.0
// An imported run of 10^7 spans and its tags through the store and correlate: cost of a tag, cost of relating the
// stored run (reading its columns and writing the derived ones included), and memory. The trace has the shape that
// PyTorch's profiler writes: operators of several threads first, then calls and kernels of several devices. Prints one
// JSON line per figure. Arguments: spans, "ends" (each step by source) and "far" (high ids).
#include "correlate/correlate.h"
#include "bench/measure.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4u
#define STREAMS 8u
#define NAMES 64u
#define BATCH 4096u

static double cpu_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double wall_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

// ---- memory ----------------------------------------------------------------------------------------------------------
static void reset_peak(void)
{
  int file = open("/proc/self/clear_refs", O_WRONLY);
  if (file < 0 || write(file, "5", 1) != 1)
    exit(3);
  close(file);
}

static double peak_mib(void)
{
  FILE *file = fopen("/proc/self/status", "r");
  char line[256];
  long kib = 0;
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "VmHWM: %ld", &kib) == 1)
      break;
  if (file != NULL)
    fclose(file);
  return (double)kib / 1024;
}

// ---- the trace -------------------------------------------------------------------------------------------------------
enum key { EXTERNAL, SEQUENCE, TYPE, SHAPE, CORRELATION, GRID, BLOCK, REGISTERS, SHARED, OCCUPANCY, KEYS };
static const char *const key_names[KEYS] = {
    "external_id", "sequence", "layer_type", "layer_shape",  "recorded_correlation",
    "grid",        "block",    "registers",  "shared_bytes", "estimated_occupancy_pct"};

struct writer {
  struct store *store;
  uint32_t key[KEYS], name[NAMES], text[NAMES], category[4], tracer;
  struct store_span spans[BATCH];
  struct store_tag tags[BATCH + 8];
  size_t span_count, tag_count; // waiting
  uint64_t span_total, tag_total;
  double span_ns, tag_ns;
  uint64_t first_correlation;
};

static void flush_spans(struct writer *writer)
{
  struct error err;
  double start = cpu_ns();
  check(store_add_spans(writer->store, 1, writer->spans, writer->span_count, &err), &err);
  writer->span_ns += cpu_ns() - start;
  writer->span_count = 0;
}

static void flush_tags(struct writer *writer)
{
  struct error err;
  double start = cpu_ns();
  check(store_add_tags(writer->store, 1, writer->tags, writer->tag_count, &err), &err);
  writer->tag_ns += cpu_ns() - start;
  writer->tag_count = 0;
}

static int64_t put_span(struct writer *writer, struct store_span span)
{
  if (writer->span_count == BATCH)
    flush_spans(writer);
  span.span_id = (int64_t)++writer->span_total;
  span.tracer = writer->tracer;
  writer->spans[writer->span_count++] = span;
  return span.span_id;
}

static void put_tag(struct writer *writer, int64_t span_id, enum key key, int64_t value)
{
  bool is_text = key == TYPE || key == SHAPE || key == GRID || key == BLOCK;
  struct store_tag tag = {.span_id = span_id, .key = writer->key[key], .type = is_text ? STORE_TEXT : STORE_INT};
  if (is_text)
    tag.value.string = writer->text[(uint64_t)value % NAMES];
  else
    tag.value.integer = value;
  writer->tags[writer->tag_count++] = tag;
  writer->tag_total++;
}

// One step of all threads; random numbers are the same in every pass.
struct step {
  int64_t time, device_time[STREAMS];
  int64_t number, external, correlation;
};

static void put_operator(struct writer *writer, const struct step *step, uint32_t track, int64_t start, int64_t end,
                         uint64_t draw)
{
  int64_t id = put_span(writer, (struct store_span){.start_ns = start,
                                                    .duration_ns = end - start,
                                                    .track_id = track,
                                                    .name = writer->name[draw % NAMES],
                                                    .category = writer->category[0],
                                                    .level = XSP_LEVEL_LAYER});
  put_tag(writer, id, EXTERNAL, step->external);
  put_tag(writer, id, SEQUENCE, step->external / 3);
  put_tag(writer, id, TYPE, (int64_t)(draw % NAMES));
  put_tag(writer, id, SHAPE, (int64_t)(draw / 7 % NAMES));
  if (writer->tag_count > BATCH)
    flush_tags(writer);
}

static void put_launch(struct writer *writer, struct step *step, uint32_t track, int64_t start, int64_t end,
                       uint64_t draw)
{
  int64_t correlation = (int64_t)(writer->first_correlation + (uint64_t)step->correlation++);
  uint32_t stream = (uint32_t)(draw >> 20) % STREAMS;
  int64_t at = step->device_time[stream] > end ? step->device_time[stream] + 500 : end + 1500;
  int64_t duration = 3000 + (int64_t)(draw >> 8 & 32767);
  step->device_time[stream] = at + duration;
  int64_t call = put_span(writer, (struct store_span){.start_ns = start,
                                                      .duration_ns = end - start,
                                                      .correlation_id = correlation,
                                                      .track_id = track,
                                                      .name = writer->name[0],
                                                      .category = writer->category[1],
                                                      .level = XSP_LEVEL_KERNEL,
                                                      .flags = STORE_SPAN_CALL});
  int64_t kernel = put_span(writer, (struct store_span){.start_ns = at,
                                                        .duration_ns = duration,
                                                        .correlation_id = correlation,
                                                        .track_id = THREADS + 1 + stream,
                                                        .name = writer->name[draw % NAMES],
                                                        .category = writer->category[2],
                                                        .level = XSP_LEVEL_KERNEL,
                                                        .kind = XSP_KIND_EXECUTION});
  put_tag(writer, call, CORRELATION, correlation);
  put_tag(writer, call, EXTERNAL, step->external);
  put_tag(writer, kernel, CORRELATION, correlation);
  put_tag(writer, kernel, EXTERNAL, step->external);
  put_tag(writer, kernel, GRID, (int64_t)(draw % 61));
  put_tag(writer, kernel, BLOCK, (int64_t)(draw % 5));
  put_tag(writer, kernel, REGISTERS, (int64_t)(draw & 255));
  put_tag(writer, kernel, SHARED, (int64_t)(draw >> 13 & 65535));
  put_tag(writer, kernel, OCCUPANCY, (int64_t)(draw % 100));
  if (writer->tag_count > BATCH)
    flush_tags(writer);
}

static uint32_t thread_at(uint64_t draw) // most work is done by two of the threads
{
  return draw % 16 < 7 ? 1 : draw % 16 < 14 ? 2 : 3 + (uint32_t)(draw / 16 % (THREADS - 2));
}

// Times of four operators, each with one inside it and a call inside that, under a fifth.
struct layer {
  int64_t begin, end, at[4], until[4];
  uint64_t draw[4], which;
};

static void draw_layer(struct step *step, struct layer *layer)
{
  layer->begin = step->time;
  layer->which = next_random();
  step->time += 1500;
  for (int k = 0; k < 4; k++) {
    layer->draw[k] = next_random();
    layer->at[k] = step->time;
    step->time += 5000 + (int64_t)(layer->draw[k] & 511);
    layer->until[k] = step->time;
    step->time += 500;
  }
  layer->end = step->time;
  step->time += 700;
}

static void put_layer(struct writer *writer, const struct step *step, const struct layer *layer)
{
  put_operator(writer, step, thread_at(layer->which), layer->begin, layer->end, layer->which);
}

// Operators by start, as today's profilers write them, or by end with the calls among them, as older ones did.
static void make_step(struct writer *writer, struct step *step, bool has_operators, bool has_calls, bool is_by_end)
{
  int64_t begin = step->time;
  struct layer layers[24];
  step->time += 2000;
  for (int i = 0; i < 24; i++)
    draw_layer(step, &layers[i]);
  const struct store_span annotation = {.start_ns = begin,
                                        .duration_ns = step->time - begin,
                                        .track_id = 1,
                                        .name = writer->name[1],
                                        .category = writer->category[3],
                                        .level = XSP_LEVEL_MODEL,
                                        .flags = STORE_SPAN_STEP};
  if (has_operators && !is_by_end)
    put_span(writer, annotation);
  for (int i = 0; i < 24; i++) {
    const struct layer *layer = &layers[i];
    if (has_operators && !is_by_end)
      put_layer(writer, step, layer);
    for (int k = 0; k < 4; k++) {
      uint32_t thread = thread_at(layer->which);
      uint64_t draw = layer->draw[k];
      step->external++;
      if (has_operators && !is_by_end)
        put_operator(writer, step, thread, layer->at[k], layer->until[k], draw / 3);
      if (has_calls)
        put_launch(writer, step, thread, layer->at[k] + 900, layer->at[k] + 3400, draw);
      if (has_operators)
        put_operator(writer, step, thread, layer->at[k] + 700, layer->until[k] - 300, draw / 5);
      if (has_operators && is_by_end)
        put_operator(writer, step, thread, layer->at[k], layer->until[k], draw / 3);
    }
    if (has_operators && is_by_end)
      put_layer(writer, step, layer);
  }
  if (has_operators && is_by_end)
    put_span(writer, annotation);
  step->time += 5000;
  step->number++;
}

static void start_writer(struct writer *writer, const char *path, bool is_far)
{
  struct error err;
  char text[96];
  check(store_create(path, true, &writer->store, &err), &err);
  for (unsigned i = 0; i < KEYS; i++)
    writer->key[i] = store_string(writer->store, key_names[i], strlen(key_names[i]));
  for (unsigned i = 0; i < NAMES; i++) {
    int length = snprintf(text, sizeof text, i == 1 ? "ProfilerStep" : "aten::operator_%u", i);
    writer->name[i] = store_string(writer->store, text, (size_t)length);
    length = snprintf(text, sizeof text, "[[%u, %u], [%u]]", i, i * 64, i);
    writer->text[i] = store_string(writer->store, text, (size_t)length);
  }
  const char *const categories[] = {"operator", "api", "kernel", "user_annotation"};
  for (unsigned i = 0; i < 4; i++)
    writer->category[i] = store_string(writer->store, categories[i], strlen(categories[i]));
  writer->tracer = store_string(writer->store, "kineto", 6);
  writer->first_correlation = is_far ? UINT64_C(7) << 32 : 1;
  const struct store_experiment experiment = {.experiment_id = 1, .name = "bench"};
  check(store_add_experiment(writer->store, &experiment, &err), &err);
  const struct store_run run = {.run_id = 1,
                                .experiment_id = 1,
                                .levels.mask = XSP_LEVEL_MASK(1) | XSP_LEVEL_MASK(2) | XSP_LEVEL_MASK(4),
                                .own_pct = (double)NAN};
  check(store_add_run(writer->store, &run, &err), &err);
  for (unsigned i = 1; i <= THREADS + STREAMS; i++) {
    const struct store_track track = {.run_id = 1,
                                      .track_id = i,
                                      .process_id = i <= THREADS ? 100 : STORE_NONE,
                                      .thread_id = i <= THREADS ? 100 + i : STORE_NONE,
                                      .device_id = i <= THREADS ? STORE_NONE : i % 2,
                                      .stream_id = i <= THREADS ? STORE_NONE : i};
    check(store_add_track(writer->store, &track, &err), &err);
  }
}

static void write_trace(struct writer *writer, uint64_t span_count, bool is_by_end)
{
  const uint64_t seed = random_state;
  for (int pass = 0; pass < (is_by_end ? 1 : 2); pass++) {
    struct step step = {.time = INT64_C(1700000000000000000)};
    random_state = seed;
    for (uint64_t at = 0; at < span_count; at += 24 * 17 + 1)
      make_step(writer, &step, is_by_end || pass == 0, is_by_end || pass == 1, is_by_end);
  }
  flush_spans(writer);
  flush_tags(writer);
  struct error err;
  double start = cpu_ns();
  check(store_commit(writer->store, &err), &err);
  writer->span_ns += cpu_ns() - start;
}

// ---- figures ---------------------------------------------------------------------------------------------------------
static enum status keep_number(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  (void)count;
  (void)err;
  *(double *)context = cells[0].type == STORE_INT ? (double)cells[0].integer : cells[0].real;
  return STATUS_OK;
}

static double ask(struct store *store, const char *sql)
{
  double number = NAN;
  struct error err;
  const struct store_query_sink sink = {.context = &number, .row = keep_number};
  check(store_query(store, sql, &sink, &err), &err);
  return number;
}

static void print(const char *name, const char *form, double value, const char *unit, double floor, double target)
{
  printf("{\"bench\":\"%s\",\"case\":\"%s\",\"value\":%.2f,\"unit\":\"%s\",\"floor\":", name, form, value, unit);
  printf(floor > 0 ? "%.2f,\"ratio\":%.3f,\"target\":" : "null,\"ratio\":null,\"target\":", floor, value / floor);
  printf(target > 0 ? "%.3f,\"peers\":{}}\n" : "null,\"peers\":{}}\n", target);
  fflush(stdout);
}

int main(int argc, char **argv)
{
  uint64_t span_count = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
  bool is_by_end = false, is_far = false;
  for (int i = 2; i < argc; i++) {
    is_by_end |= strcmp(argv[i], "ends") == 0;
    is_far |= strcmp(argv[i], "far") == 0;
  }
  char path[512], form[64];
  struct error err;
  static struct writer writer;
  snprintf(path, sizeof path, "%s/xsp-bench-%d.xsp", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp",
           (int)getpid());
  start_writer(&writer, path, is_far);
  write_trace(&writer, span_count, is_by_end);
  snprintf(form, sizeof form, "%.0e spans%s%s", (double)span_count, is_by_end ? ", by end" : "",
           is_far ? ", far ids" : "");
  double rows = (double)writer.span_total;
  print("store/import spans", form, writer.span_ns / rows, "ns/span", 0, 0);
  print("store/import tags", form, writer.tag_ns / (double)writer.tag_total, "ns/tag", 0, 0);
  print("store/tag size", form,
        ask(writer.store, "select sum(length(data)) from chunk where series = 'tag'") / (double)writer.tag_total,
        "bytes/tag", 3, 1);
  print("store/span size", form, ask(writer.store, "select sum(length(data)) from chunk where series = 'span'") / rows,
        "bytes/span", 0, 0);
  reset_peak();
  double cpu = cpu_ns(), wall = wall_ns();
  check(correlate_store(writer.store, &err), &err);
  cpu = cpu_ns() - cpu;
  wall = wall_ns() - wall;
  print("correlate/store", form, cpu / rows, "ns/span", 0, 0);
  print("correlate/store wall", form, wall / rows, "ns/span", 0, 0);
  print("correlate/memory", form, peak_mib(), "MiB", 1100, 1);
  print("store/derived size", form,
        ask(writer.store,
            "select sum(length(data)) from chunk where \"column\" in ('parent_id', 'model_id', 'layer_id',"
            " 'self_ns', 'observation', 'depth', 'basis', 'derived_kind') or series = 'tag_derived'") /
            rows,
        "bytes/span", 0, 0);
  if (getenv("XSP_BENCH_KEEP") != NULL) {
    check(store_finish(writer.store, &err), &err);
    store_close(writer.store);
  } else {
    store_discard(writer.store);
  }
  return 0;
}
