// SPDX-License-Identifier: Apache-2.0
// Writes an .xsp file from a description on stdin, through the store's and correlate's front doors: scripted traces for
// the whole-program tests. Not installed.
//
// One item per line, fields separated by tabs, "-" for none, %XX for any byte:
//   system KEY VALUE [text], of the next experiment: a number, or a text
//   experiment ID NAME WORKLOAD FRAMEWORK VERSION
//   workload EXPERIMENT KEY int|text VALUE
//   run ID EXPERIMENT LEVELS BATCH DROPPED unix|trace
//   track RUN ID NAME HOST CLOCK PROCESS THREAD DEVICE STREAM RANK WORLD_SIZE
//   context ID PARENT KIND NAME FILE LINE MODULE ADDRESS (the call path of a frame; IDs count up from 1)
//   span RUN ID PARENT START DURATION CORRELATION TRACK LEVEL KIND CATEGORY TRACER NAME [FLAGS [CONTEXT]]
//     (DURATION "open"; FLAGS of "step", "placed", "call", "basis=NAME", separated by commas)
//   sample RUN TRACK CONTEXT KIND TIME DURATION [SPAN] (of a thread)
//   counter RUN ID NAME SOURCE PROCESS THREAD DEVICE total|value, then counter_value RUN ID TIME VALUE
//   tag RUN SPAN KEY int|double|text VALUE
#include "correlate/correlate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS 16

static struct store *store;
static struct error err;
static unsigned line_number;

static void stop(const char *why)
{
  char text[2048];
  error_line(&err, text, sizeof text);
  fprintf(stderr, "make_trace: line %u: %s: %s\n", line_number, why, text);
  exit(3);
}

static void check(enum status status, const char *what)
{
  if (status != STATUS_OK)
    stop(what);
}

static int hex_digit(char digit)
{
  return digit >= '0' && digit <= '9'                 ? digit - '0'
         : (digit | 32) >= 'a' && (digit | 32) <= 'f' ? (digit | 32) - 'a' + 10
                                                      : -1;
}

// Decodes %XX in place; returns the length, since a text may hold NUL bytes.
static size_t decode(char *text)
{
  char *to = text;
  for (const char *at = text; *at != 0; at++) {
    if (at[0] == '%' && hex_digit(at[1]) >= 0 && hex_digit(at[2]) >= 0) {
      *to++ = (char)(hex_digit(at[1]) * 16 + hex_digit(at[2]));
      at += 2;
    } else {
      *to++ = *at;
    }
  }
  *to = 0;
  return (size_t)(to - text);
}

static size_t split(char *line, char **fields, size_t *lengths)
{
  size_t count = 0;
  line[strcspn(line, "\n")] = 0;
  for (char *field = strsep(&line, "\t"); field != NULL && count < FIELDS; field = strsep(&line, "\t")) {
    lengths[count] = decode(field);
    fields[count++] = field;
  }
  for (size_t i = count; i < FIELDS; i++)
    fields[i] = "-";
  return count;
}

static int64_t number(const char *text)
{
  return strcmp(text, "-") == 0 ? 0 : strtoll(text, NULL, 10);
}

static int64_t number_or_none(const char *text)
{
  return strcmp(text, "-") == 0 ? STORE_NONE : strtoll(text, NULL, 10);
}

static const char *text_or_null(const char *text)
{
  return strcmp(text, "-") == 0 ? NULL : text;
}

static uint32_t string(const char *text, size_t length)
{
  return strcmp(text, "-") == 0 ? 0 : store_string(store, text, length);
}

#define SYSTEM_VALUES 16
static struct store_system_value system_values[SYSTEM_VALUES] = {{.key = "cpus", .number = 2, .is_number = true},
                                                                 {.key = "machine", .text = "scripted"}};
static size_t system_value_count = 2;

static void add_system_value(char **fields)
{
  if (system_value_count == SYSTEM_VALUES)
    stop("too many system values");
  bool is_text = strcmp(fields[3], "text") == 0;
  system_values[system_value_count++] = (struct store_system_value){.key = strdup(fields[1]),
                                                                    .number = is_text ? 0 : strtod(fields[2], NULL),
                                                                    .text = is_text ? strdup(fields[2]) : NULL,
                                                                    .is_number = !is_text};
}

static void add_workload(char **fields)
{
  bool is_text = strcmp(fields[3], "text") == 0;
  const struct store_system_value value = {.key = fields[2],
                                           .number = is_text ? 0 : strtod(fields[4], NULL),
                                           .text = is_text ? fields[4] : NULL,
                                           .is_number = !is_text};
  check(store_add_workload(store, number(fields[1]), &value, 1, &err), "workload");
}

static void add_experiment(char **fields)
{
  int64_t system_id = 0;
  check(store_add_system(store, system_values, system_value_count, &system_id, &err), "system");
  for (; system_value_count > 2; system_value_count--) {
    free((char *)system_values[system_value_count - 1].key);
    free((char *)system_values[system_value_count - 1].text);
  }
  const struct store_experiment experiment = {.experiment_id = number(fields[1]),
                                              .name = text_or_null(fields[2]),
                                              .workload = text_or_null(fields[3]),
                                              .framework = text_or_null(fields[4]),
                                              .framework_version = text_or_null(fields[5]),
                                              .created_ns = INT64_C(1700000000000000000),
                                              .system_id = system_id,
                                              .xsp_version = "0.0.0"};
  check(store_add_experiment(store, &experiment, &err), "experiment");
}

static void add_run(char **fields)
{
  struct store_run run = {.run_id = number(fields[1]),
                          .experiment_id = number(fields[2]),
                          .batch_size = number(fields[4]),
                          .dropped_count = number(fields[5]),
                          .epoch_is_unix = strcmp(fields[6], "unix") == 0,
                          .own_pct = NAN};
  if (!level_set_parse(fields[3], strlen(fields[3]), &run.levels))
    stop("not a level set");
  check(store_add_run(store, &run, &err), "run");
}

static void add_track(char **fields)
{
  const struct store_track track = {
      .run_id = number(fields[1]),
      .track_id = number(fields[2]),
      .name = text_or_null(fields[3]),
      .host = text_or_null(fields[4]),
      .clock = text_or_null(fields[5]),
      .process_id = number_or_none(fields[6]),
      .thread_id = number_or_none(fields[7]),
      .device_id = number_or_none(fields[8]),
      .stream_id = number_or_none(fields[9]),
      .rank = {.rank = number_or_none(fields[10]), .local_rank = STORE_NONE, .world_size = number_or_none(fields[11])}};
  check(store_add_track(store, &track, &err), "track");
}

static void add_context(char **fields)
{
  struct store_frame frame = {.name = text_or_null(fields[4]),
                              .file = text_or_null(fields[5]),
                              .line = number(fields[6]),
                              .module = text_or_null(fields[7]),
                              .address = number(fields[8])};
  if (!frame_kind_from_name(fields[3], strlen(fields[3]), &frame.kind))
    stop("not a kind of frame");
  uint32_t id = store_context_id(store, (uint32_t)number(fields[2]), store_frame_id(store, &frame));
  if (id != number(fields[1]))
    stop("not the next context's id");
}

static uint8_t flags_of(char *text)
{
  uint8_t flags = 0;
  unsigned basis;
  if (strcmp(text, "-") == 0)
    return 0;
  for (char *flag = strsep(&text, ","); flag != NULL; flag = strsep(&text, ","))
    if (strcmp(flag, "step") == 0)
      flags |= STORE_SPAN_STEP;
    else if (strcmp(flag, "placed") == 0)
      flags |= STORE_SPAN_PLACED;
    else if (strcmp(flag, "call") == 0)
      flags |= STORE_SPAN_CALL;
    else if (strncmp(flag, "basis=", 6) == 0 && basis_from_name(flag + 6, strlen(flag + 6), &basis))
      flags |= STORE_FLAG_BASIS(basis);
    else
      stop("no such flag");
  return flags;
}

static void add_span(char **fields, const size_t *lengths)
{
  bool is_open = strcmp(fields[5], "open") == 0;
  struct store_span span = {.span_id = number(fields[2]),
                            .recorded_parent_id = number(fields[3]),
                            .start_ns = number(fields[4]),
                            .duration_ns = is_open ? 0 : number(fields[5]),
                            .correlation_id = number(fields[6]),
                            .track_id = (uint32_t)number(fields[7]),
                            .name = string(fields[12], lengths[12]),
                            .category = string(fields[10], lengths[10]),
                            .tracer = string(fields[11], lengths[11]),
                            .context_id = (uint32_t)number(fields[14]),
                            .flags = (uint8_t)(flags_of(fields[13]) | (is_open ? STORE_SPAN_OPEN : 0))};
  unsigned level = 0, kind = 0;
  if (!level_from_name(fields[8], strlen(fields[8]), &level) || !kind_from_name(fields[9], strlen(fields[9]), &kind))
    stop("not a level or a kind");
  span.level = (uint8_t)level;
  span.kind = (uint8_t)kind;
  check(store_add_spans(store, number(fields[1]), &span, 1, &err), "span");
}

static void add_sample(char **fields)
{
  unsigned kind = 0;
  if (!sample_kind_from_name(fields[4], strlen(fields[4]), &kind))
    stop("not a kind of samples");
  const struct store_sample sample = {.time_ns = number(fields[5]),
                                      .duration_ns = number(fields[6]),
                                      .span_id = number(fields[7]),
                                      .track_id = (uint32_t)number(fields[2]),
                                      .context_id = (uint32_t)number(fields[3]),
                                      .kind = (uint8_t)kind};
  check(store_add_samples(store, number(fields[1]), &sample, 1, &err), "sample");
}

static void add_counter(char **fields)
{
  const struct store_counter counter = {.counter_id = number(fields[2]),
                                        .name = fields[3],
                                        .source = text_or_null(fields[4]),
                                        .process_id = number_or_none(fields[5]),
                                        .thread_id = number_or_none(fields[6]),
                                        .device_id = number_or_none(fields[7]),
                                        .is_total = strcmp(fields[8], "total") == 0};
  check(store_add_counter(store, number(fields[1]), &counter, &err), "counter");
}

static void add_counter_value(char **fields)
{
  const struct store_counter_value value = {number(fields[2]), number(fields[3]), strtod(fields[4], NULL)};
  check(store_add_counter_value(store, number(fields[1]), &value, &err), "counter_value");
}

static void add_tag(char **fields, const size_t *lengths)
{
  struct store_tag tag = {.span_id = number(fields[2]), .key = string(fields[3], lengths[3])};
  if (strcmp(fields[4], "int") == 0) {
    tag.type = STORE_INT;
    tag.value.integer = number(fields[5]);
  } else if (strcmp(fields[4], "double") == 0) {
    tag.type = STORE_DOUBLE;
    tag.value.real = strtod(fields[5], NULL);
  } else {
    tag.type = STORE_TEXT;
    tag.value.string = string(fields[5], lengths[5]);
  }
  check(store_add_tags(store, number(fields[1]), &tag, 1, &err), "tag");
}

static void add_line(char *line)
{
  char *fields[FIELDS];
  size_t lengths[FIELDS] = {0};
  if (split(line, fields, lengths) < 3)
    stop("too few fields");
  if (strcmp(fields[0], "system") == 0)
    add_system_value(fields);
  else if (strcmp(fields[0], "experiment") == 0)
    add_experiment(fields);
  else if (strcmp(fields[0], "workload") == 0)
    add_workload(fields);
  else if (strcmp(fields[0], "run") == 0)
    add_run(fields);
  else if (strcmp(fields[0], "track") == 0)
    add_track(fields);
  else if (strcmp(fields[0], "context") == 0)
    add_context(fields);
  else if (strcmp(fields[0], "span") == 0)
    add_span(fields, lengths);
  else if (strcmp(fields[0], "sample") == 0)
    add_sample(fields);
  else if (strcmp(fields[0], "counter") == 0)
    add_counter(fields);
  else if (strcmp(fields[0], "counter_value") == 0)
    add_counter_value(fields);
  else if (strcmp(fields[0], "tag") == 0)
    add_tag(fields, lengths);
  else
    stop("no such thing");
}

int main(int argc, char **argv)
{
  if (argc != 2)
    return 2;
  check(store_create(argv[1], true, &store, &err), "create");
  char *line = NULL;
  size_t size = 0;
  while (getline(&line, &size, stdin) > 0) {
    line_number++;
    add_line(line);
  }
  free(line);
  check(store_commit(store, &err), "commit");
  check(correlate_store(store, &err), "correlate");
  check(store_finish(store, &err), "finish");
  store_close(store);
  return 0;
}
