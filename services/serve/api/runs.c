// SPDX-License-Identifier: Apache-2.0
// Experiments and runs of all files, as far as they fit a query. Called through services/serve/routes.c.
#include "serve/api/runs.h"

#include "base/json_write.h"
#include "base/slice.h"
#include "http/exchange.h"
#include "serve/api/trace_id.h"
#include "serve/server.h"
#include "serve/turn.h"

#define LIMIT_DEFAULT 1000

#define COMMON_PARAMETERS                                                                                              \
  {"name", ROUTE_TEXT, "Only experiments whose name has this text, in any case"},                                      \
      {"workload", ROUTE_TEXT, "Only experiments whose workload has this text, in any case"},                          \
      {"framework", ROUTE_TEXT, "Only experiments whose framework has this text, in any case"},                        \
      {"file", ROUTE_TEXT, "Only this file"},                                                                          \
  {                                                                                                                    \
    "limit", ROUTE_COUNT, "At most so many; 1000 without it"                                                           \
  }
const struct route_parameter serve_runs_experiment_parameters[] = {COMMON_PARAMETERS, {0}};
const struct route_parameter serve_runs_parameters[] = {
    COMMON_PARAMETERS,
    {"trace", ROUTE_TEXT, "Only runs with spans of this trace id: 32 hex digits"},
    {"from_ns", ROUTE_COUNT,
     "Only runs with a span that starts at this time or later: nanoseconds since the Unix epoch"},
    {"to_ns", ROUTE_COUNT, "Only runs with a span that starts at this time or earlier"},
    {0},
};

// ---- filters ---------------------------------------------------------------------------------------------------------
struct filter {
  const char *name, *workload, *framework, *file, *trace; // NULL: any
  int64_t from_ns, to_ns, left;
  bool has_times;
};

static int64_t integer(const struct exchange *exchange, const char *name, int64_t otherwise)
{
  int64_t value = otherwise;
  const char *text = exchange_parameter(exchange, name);
  return text != NULL && slice_int64(slice_of(text), &value) ? value : otherwise;
}

static struct filter read_filter(const struct exchange *exchange)
{
  return (struct filter){
      .name = exchange_parameter(exchange, "name"),
      .workload = exchange_parameter(exchange, "workload"),
      .framework = exchange_parameter(exchange, "framework"),
      .file = exchange_parameter(exchange, "file"),
      .trace = exchange_parameter(exchange, "trace"),
      .from_ns = integer(exchange, "from_ns", INT64_MIN),
      .to_ns = integer(exchange, "to_ns", INT64_MAX),
      .left = integer(exchange, "limit", LIMIT_DEFAULT),
      .has_times = exchange_parameter(exchange, "from_ns") != NULL || exchange_parameter(exchange, "to_ns") != NULL,
  };
}

static bool has(const char *text, const char *wanted)
{
  return wanted == NULL || (text != NULL && strcasestr(text, wanted) != NULL);
}

static bool fits_experiment(const struct filter *filter, const struct catalogue_experiment *experiment)
{
  return has(experiment->name, filter->name) && has(experiment->workload, filter->workload) &&
         has(experiment->framework, filter->framework);
}

static bool fits_run(const struct filter *filter, const struct catalogue_run *run)
{
  bool is_in_time =
      run->is_unix && run->spans > 0 && run->last_start_ns >= filter->from_ns && run->first_start_ns <= filter->to_ns;
  return fits_experiment(filter, run->experiment) && (!filter->has_times || is_in_time);
}

static bool fits_file(const struct filter *filter, const struct catalogue_file *file)
{
  return filter->file == NULL || strcmp(filter->file, file->file.name) == 0;
}

// ---- rows ------------------------------------------------------------------------------------------------------------
static void put_experiment(struct json_writer *json, const struct catalogue_file *file,
                           const struct catalogue_experiment *experiment)
{
  int64_t runs = 0, spans = 0;
  for (size_t i = 0; i < file->run_count; i++)
    if (file->runs[i].experiment == experiment) {
      runs++;
      spans += file->runs[i].spans;
    }
  json_object(json);
  json_member_string(json, "file", file->file.name);
  json_member_int(json, "experiment_id", experiment->experiment_id);
  json_member_string(json, "name", experiment->name);
  json_member_string(json, "workload", experiment->workload);
  json_member_string(json, "framework", experiment->framework);
  json_member_string(json, "framework_version", experiment->framework_version);
  json_member_int(json, "created_ns", experiment->created_ns);
  json_member_string(json, "xsp_version", experiment->xsp_version);
  json_member_int(json, "runs", runs);
  json_member_int(json, "spans", spans);
  json_object_end(json);
}

static void put_time(struct json_writer *json, const char *key, const struct catalogue_run *run, int64_t time_ns)
{
  json_key(json, key);
  run->spans > 0 ? json_int(json, time_ns) : json_null(json);
}

static void put_run(struct json_writer *json, const struct catalogue_file *file, const struct catalogue_run *run)
{
  json_object(json);
  json_member_string(json, "file", file->file.name);
  json_member_int(json, "run_id", run->run_id);
  json_member_int(json, "experiment_id", run->experiment->experiment_id);
  json_member_string(json, "experiment", run->experiment->name);
  json_member_string(json, "workload", run->experiment->workload);
  json_member_string(json, "framework", run->experiment->framework);
  json_member_string(json, "levels", run->levels);
  json_member_int_or_null(json, "batch_size", run->batch_size);
  json_member_int(json, "spans", run->spans);
  json_member_int(json, "dropped", run->dropped);
  json_member_string(json, "epoch", run->is_unix ? "unix" : "trace");
  put_time(json, "first_start_ns", run, run->first_start_ns);
  put_time(json, "last_start_ns", run, run->last_start_ns);
  json_object_end(json);
}

// ---- handlers --------------------------------------------------------------------------------------------------------
// Files that cannot be read, by name and reason. `is_more`: the limit left some out.
static void put_end(struct json_writer *json, const struct catalogue_list *list, bool is_more)
{
  json_array_end(json);
  json_member_bool(json, "more", is_more);
  json_member_array(json, "unreadable");
  for (size_t i = 0; i < list->files.count; i++)
    if (list->files.items[i]->problem != NULL) {
      json_object(json);
      json_member_string(json, "file", list->files.items[i]->file.name);
      json_member_string(json, "why", list->files.items[i]->problem);
      json_object_end(json);
    }
  json_array_end(json);
  json_object_end(json);
  buf_text(json->out, "\n");
}

static bool take_list(struct exchange *exchange, struct catalogue_list *ret_list)
{
  struct serve *serve = serve_of(exchange);
  struct error error = {0};
  if (catalogue_take(&serve->catalogue, serve->folder, serve->options.folder, ret_list, &error) == STATUS_OK)
    return true;
  exchange_refuse_error(exchange, 500, &error);
  return false;
}

void serve_runs_experiments(struct exchange *exchange)
{
  struct filter filter = read_filter(exchange);
  struct catalogue_list list;
  struct json_writer json;
  bool is_more = false;
  if (!take_list(exchange, &list))
    return;
  json_start(&json, exchange_reply(exchange, 200, "application/json"));
  json_object(&json);
  json_member_array(&json, "experiments");
  for (size_t i = 0; i < list.files.count; i++) {
    const struct catalogue_file *file = list.files.items[i];
    for (size_t k = 0; k < file->experiment_count; k++) {
      if (!fits_file(&filter, file) || !fits_experiment(&filter, &file->experiments[k]))
        continue;
      is_more |= filter.left-- <= 0;
      if (!is_more)
        put_experiment(&json, file, &file->experiments[k]);
    }
  }
  put_end(&json, &list, is_more);
  catalogue_release(&list);
}

static bool is_one_of(int64_t run_id, const int64_t *run_ids, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (run_ids[i] == run_id)
      return true;
  return false;
}

// The runs of a file that fit. False: the limit left some out.
static bool put_runs(struct exchange *exchange, struct json_writer *json, struct filter *filter,
                     const struct catalogue_file *file)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct error ignored;
  int64_t *with_trace = NULL;
  size_t count = 0;
  bool is_whole = true, is_any = false;
  for (size_t i = 0; i < file->run_count; i++)
    is_any |= fits_file(filter, file) && fits_run(filter, &file->runs[i]);
  if (is_any && filter->trace != NULL) // a file that is gone since, or broken there, has none
    is_any = trace_id_runs(file, serve_of(exchange)->options.folder, filter->trace, &arena, &with_trace, &count,
                           &ignored) == STATUS_OK;
  for (size_t i = 0; i < file->run_count && is_any; i++) {
    const struct catalogue_run *run = &file->runs[i];
    if (!fits_run(filter, run) || (filter->trace != NULL && !is_one_of(run->run_id, with_trace, count)))
      continue;
    is_whole &= filter->left-- > 0;
    if (is_whole)
      put_run(json, file, run);
  }
  return is_whole;
}

void serve_runs_runs(struct exchange *exchange)
{
  struct filter filter = read_filter(exchange);
  struct catalogue_list list;
  struct json_writer json;
  bool is_more = false;
  if (filter.trace != NULL && !trace_id_is(filter.trace)) {
    exchange_refuse(exchange, 400, "trace must be 32 hex digits");
    return;
  }
  if (filter.trace != NULL && !turn_take(exchange))
    return;
  if (take_list(exchange, &list)) {
    json_start(&json, exchange_reply(exchange, 200, "application/json"));
    json_object(&json);
    json_member_array(&json, "runs");
    for (size_t i = 0; i < list.files.count && !is_more; i++)
      is_more = !put_runs(exchange, &json, &filter, list.files.items[i]);
    put_end(&json, &list, is_more);
    catalogue_release(&list);
  }
  if (filter.trace != NULL)
    turn_end(exchange);
}
