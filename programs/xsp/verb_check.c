// SPDX-License-Identifier: Apache-2.0
// xsp check: which frameworks and tracers can be used here, which not and why; what the machine is like.
#include "base/json_write.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "experiment/experiment.h"
#include "launch/launch.h"
#include "manifests/manifests.h"
#include "programs/xsp/check_links.h"
#include "programs/xsp/check_machine.h"
#include "programs/xsp/check_manifest.h"
#include "programs/xsp/output.h"
#include "programs/xsp/reader.h"
#include "report/display.h"

#include <ctype.h>
#include <glob.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum subject_kind { SUBJECT_PREDICTOR, SUBJECT_TRACER };
static const char *const kind_keys[] = {[SUBJECT_PREDICTOR] = "predictor", [SUBJECT_TRACER] = "tracer"};

struct subject {
  enum subject_kind kind;
  bool has_given_library; // by option or environment
  struct probe_result result;
};

struct subjects {
  struct subject *items; // malloc'ed
  size_t count;
};

// ---- what was given --------------------------------------------------------------------------------------------------
// The path of --library NAME=PATH for `name`; NULL: none.
static const char *given_library(const struct invocation *invocation, const char *name)
{
  size_t length = strlen(name);
  const char *path = NULL;
  const char *value;
  for (size_t i = 0; (value = invocation_value_at(invocation, "library", i)) != NULL; i++)
    if (strncmp(value, name, length) == 0 && value[length] == '=')
      path = value + length + 1;
  return path;
}

// Libraries that no predictor opens, only a tracer of this name.
static bool is_tracer_library(const char *name)
{
  const struct known_tracer *tracer = known_tracer(name);
  return tracer != NULL && tracer->has_named_library;
}

static void variable_name(const char *name, char *variable, size_t size)
{
  int length = snprintf(variable, size, "XSP_LIBRARY_%s", name);
  for (int i = 0; i < length && i < (int)size - 1; i++)
    variable[i] = variable[i] == '-' ? '_' : (char)toupper((unsigned char)variable[i]);
}

static bool environment_gives_library(const char *name)
{
  char variable[96];
  variable_name(name, variable, sizeof variable);
  const char *value = getenv(variable);
  return value != NULL && value[0] != 0;
}

// What was named holds for tracers, too: they look into the environment.
static enum status check_library_options(const struct invocation *invocation, struct error *err)
{
  const char *value;
  for (size_t i = 0; (value = invocation_value_at(invocation, "library", i)) != NULL; i++) {
    const char *equals = strchr(value, '=');
    if (equals == NULL || equals == value || equals[1] == 0)
      return error_set(err, STATUS_USE, "wrong use", value, "--library onnxruntime=/path/libonnxruntime.so.1",
                       "it is not NAME=PATH");
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(equals - value), value);
    if (predictor_find(name) == NULL && !is_tracer_library(name))
      return error_set(err, STATUS_USE, "wrong use", name, "`xsp check`, which names all", "no such library");
    char variable[96];
    variable_name(name, variable, sizeof variable);
    setenv(variable, equals + 1, 1);
  }
  return STATUS_OK;
}

// ---- probing ---------------------------------------------------------------------------------------------------------
static bool is_wanted(const struct invocation *invocation, const char *name)
{
  for (size_t i = 0; i < invocation->argument_count; i++)
    if (strcmp(invocation->arguments[i], name) == 0)
      return true;
  return invocation->argument_count == 0;
}

static void tracer_name(const char *path, char *name, size_t size)
{
  snprintf(name, size, "%s", basename(path));
  name[strcspn(name, ".")] = 0;
}

static enum status unknown_name(const char *name, const glob_t *tracers, struct error *err)
{
  struct nearest nearest;
  nearest_start(&nearest, name);
  char best[64] = "";
  for (size_t i = 0; predictors[i] != NULL; i++)
    nearest_offer(&nearest, predictors[i]->name);
  if (nearest.best != NULL)
    snprintf(best, sizeof best, "%s", nearest.best);
  for (size_t i = 0; i < tracers->gl_pathc; i++) {
    char candidate[64];
    tracer_name(tracers->gl_pathv[i], candidate, sizeof candidate);
    nearest.best = NULL;
    nearest_offer(&nearest, candidate);
    if (nearest.best != NULL)
      snprintf(best, sizeof best, "%s", candidate);
  }
  char advice[128] = "`xsp check`, which names all";
  if (best[0] != 0)
    snprintf(advice, sizeof advice, "%s, or `xsp check`, which names all", best);
  return error_set(err, STATUS_USE, "wrong use", name, advice, "no such predictor or tracer");
}

static enum status check_names(const struct invocation *invocation, const glob_t *tracers, struct error *err)
{
  for (size_t i = 0; i < invocation->argument_count; i++) {
    const char *name = invocation->arguments[i];
    bool is_known = predictor_find(name) != NULL;
    for (size_t j = 0; j < tracers->gl_pathc; j++) {
      char candidate[64];
      tracer_name(tracers->gl_pathv[j], candidate, sizeof candidate);
      is_known |= strcmp(candidate, name) == 0 && !tracer_is_part(name);
    }
    if (!is_known)
      return unknown_name(name, tracers, err);
  }
  return STATUS_OK;
}

static enum status probe_all(const struct invocation *invocation, const glob_t *tracers, struct subjects *subjects,
                             struct error *err)
{
  size_t most = tracers->gl_pathc;
  for (size_t i = 0; predictors[i] != NULL; i++)
    most++;
  subjects->items = memory_new(most + 1, sizeof *subjects->items);
  for (size_t i = 0; predictors[i] != NULL; i++) {
    const char *name = predictors[i]->name;
    if (!is_wanted(invocation, name))
      continue;
    struct subject *subject = &subjects->items[subjects->count++];
    const char *path = given_library(invocation, name);
    subject->kind = SUBJECT_PREDICTOR;
    subject->has_given_library = path != NULL || environment_gives_library(name);
    probe_predictor(predictors[i], path, &subject->result);
  }
  for (size_t i = 0; i < tracers->gl_pathc; i++) {
    char name[64];
    tracer_name(tracers->gl_pathv[i], name, sizeof name);
    if (tracer_is_part(name) || !is_wanted(invocation, name))
      continue;
    struct subject *subject = &subjects->items[subjects->count++];
    subject->kind = SUBJECT_TRACER;
    subject->has_given_library = environment_gives_library(name);
    probe_tracer(tracers->gl_pathv[i], &subject->result);
  }
  return STATUS_OK;
}

// ---- printing --------------------------------------------------------------------------------------------------------
static void json_text(struct json_writer *json, const char *key, const char *text)
{
  json_key(json, key);
  json_string(json, text[0] != 0 ? text : NULL);
}

static void print_peaks(struct json_writer *json, const struct peaks *peaks)
{
  json_object(json);
  json_text(json, "peaks", "cpu");
  json_key(json, "usable");
  json_bool(json, !isnan(peaks->flops_per_s));
  json_key(json, "peak_flops_per_s");
  json_double(json, peaks->flops_per_s);
  json_key(json, "memory_bandwidth_bytes_per_s");
  json_double(json, peaks->is_beyond_cache ? peaks->bandwidth_bytes_per_s : NAN);
  json_text(json, "instructions", peaks->instructions);
  json_key(json, "threads");
  json_int(json, peaks->threads);
  json_object_end(json);
}

static void print_json(const struct subjects *subjects, const struct peaks *peaks, struct buf *out)
{
  struct json_writer json;
  json_start(&json, out);
  json_array(&json);
  for (size_t i = 0; i < subjects->count; i++) {
    const struct probe_result *result = &subjects->items[i].result;
    json_object(&json);
    json_text(&json, kind_keys[subjects->items[i].kind], result->name);
    json_key(&json, "usable");
    json_bool(&json, result->is_usable);
    json_text(&json, "library", result->library);
    json_text(&json, "version", result->version);
    json_text(&json, "reason", result->reason);
    json_text(&json, "advice", result->advice);
    if (subjects->items[i].kind == SUBJECT_PREDICTOR)
      json_text(&json, "untold", result->untold);
    json_object_end(&json);
  }
  if (peaks != NULL)
    print_peaks(&json, peaks);
  json_array_end(&json);
  buf_text(out, "\n");
}

enum check_column {
  CHECK_KIND,
  CHECK_NAME,
  CHECK_USABLE,
  CHECK_VERSION,
  CHECK_LIBRARY,
  CHECK_REASON,
  CHECK_ADVICE,
  CHECK_UNTOLD
};
#define CHECK_COLUMNS 8
static const struct table_column columns[CHECK_COLUMNS] = {
    [CHECK_KIND] = {"kind", "", "kind"},          [CHECK_NAME] = {"name", "", "name"},
    [CHECK_USABLE] = {"usable", "", "usable"},    [CHECK_VERSION] = {"version", "", "version"},
    [CHECK_LIBRARY] = {"library", "", "library"}, [CHECK_REASON] = {"reason", "", "reason"},
    [CHECK_ADVICE] = {"advice", "", "try"},       [CHECK_UNTOLD] = {"untold", "", "untold"},
};

#define VERSION_WIDTH 44 // some name all they were built with

static const char *shortened(struct arena *arena, const char *version)
{
  size_t length = strlen(version);
  return length <= VERSION_WIDTH ? version : arena_format(arena, "%.*s…", VERSION_WIDTH - 1, version);
}

static struct table_cell text_cell(const char *text)
{
  return text[0] != 0 ? (struct table_cell){CELL_TEXT, {.text = text}} : (struct table_cell){0};
}

// For people: without the reasons, which are sentences and follow the table. CSV has all.
static void print_table(const struct subjects *subjects, enum report_format format, unsigned width, struct buf *out)
{
  struct arena arena = {0};
  struct table_cell *rows = arena_alloc_array(&arena, subjects->count * CHECK_COLUMNS + 1, sizeof *rows);
  for (size_t i = 0; i < subjects->count; i++) {
    const struct probe_result *result = &subjects->items[i].result;
    struct table_cell *row = &rows[i * CHECK_COLUMNS];
    row[CHECK_KIND] = text_cell(kind_keys[subjects->items[i].kind]);
    row[CHECK_NAME] = text_cell(result->name);
    row[CHECK_USABLE] = text_cell(result->is_usable ? "yes" : "no");
    const char *version = format == REPORT_CSV ? result->version : shortened(&arena, result->version);
    row[CHECK_VERSION] = text_cell(version);
    row[CHECK_LIBRARY] = text_cell(result->library);
    if (format == REPORT_CSV) {
      row[CHECK_REASON] = text_cell(result->reason);
      row[CHECK_ADVICE] = text_cell(result->advice);
      row[CHECK_UNTOLD] = text_cell(result->untold);
    }
  }
  struct table table = {
      .id = "check", .columns = columns, .column_count = CHECK_COLUMNS, .rows = rows, .row_count = subjects->count};
  report_tables(&table, 1, format, false, width, out);
  arena_done(&arena);
}

static void put_wrapped(struct buf *out, const char *prefix, const char *text, unsigned width)
{
  struct buf escaped;
  buf_init(&escaped, BUF_MAXIMUM_DEFAULT);
  display_escape(&escaped, text, strlen(text));
  buf_text(out, prefix);
  display_wrap(out, escaped.data, strlen(prefix), 2, width);
  buf_done(&escaped);
}

static void print_reasons(const struct subjects *subjects, unsigned width, struct buf *out)
{
  for (size_t i = 0; i < subjects->count; i++) {
    const struct probe_result *result = &subjects->items[i].result;
    if (result->is_usable)
      continue;
    char prefix[128];
    snprintf(prefix, sizeof prefix, "\n%s %s: ", kind_keys[subjects->items[i].kind], result->name);
    put_wrapped(out, prefix, result->reason, width);
    if (result->advice[0] != 0)
      put_wrapped(out, "  try: ", result->advice, width);
  }
}

static void print_untold(const struct subjects *subjects, unsigned width, struct buf *out)
{
  for (size_t i = 0; i < subjects->count; i++) {
    const struct probe_result *result = &subjects->items[i].result;
    if (!result->is_usable || result->untold[0] == 0)
      continue;
    char prefix[128];
    snprintf(prefix, sizeof prefix, "\n%s %s: ", kind_keys[subjects->items[i].kind], result->name);
    char sentence[128] = "of a layer it does not tell: ";
    size_t used = strlen(sentence);
    for (const char *at = result->untold; *at != 0 && used + 2 < sizeof sentence; at++) {
      sentence[used++] = *at;
      if (*at == ',')
        sentence[used++] = ' ';
    }
    sentence[used] = 0;
    put_wrapped(out, prefix, sentence, width);
  }
}

static enum status print(const struct subjects *subjects, enum report_format format, bool with_machine,
                         const struct peaks *peaks, struct error *err)
{
  struct buf out;
  buf_init(&out, BUF_MAXIMUM_DEFAULT);
  unsigned width = output_width();
  if (format == REPORT_JSON) {
    print_json(subjects, peaks, &out);
  } else {
    print_table(subjects, format, width, &out);
    if (format != REPORT_CSV) {
      print_untold(subjects, width, &out);
      print_reasons(subjects, width, &out);
    }
    if (format == REPORT_TEXT && (with_machine || peaks != NULL)) {
      buf_text(&out, "\n");
      check_machine(&out, width, peaks);
    }
  }
  enum status status = output_buf(&out, err);
  buf_done(&out);
  return status;
}

// A framework and its tracer have one name, and one may be usable without the other.
static bool is_name_usable(const struct subjects *subjects, const char *name)
{
  for (size_t i = 0; i < subjects->count; i++)
    if (subjects->items[i].result.is_usable && strcmp(subjects->items[i].result.name, name) == 0)
      return true;
  return false;
}

// A library that was named and does not open is a failure of its own; else "no" only where names were asked for.
static enum status verdict(const struct invocation *invocation, const struct subjects *subjects, struct error *err)
{
  for (size_t i = 0; i < subjects->count; i++) {
    const struct subject *subject = &subjects->items[i];
    if (!subject->result.is_usable && subject->has_given_library && subject->result.status == STATUS_SYSTEM)
      return error_set(err, STATUS_SYSTEM, "cannot use the library that was named", subject->result.name,
                       subject->result.advice, "%s", subject->result.reason);
  }
  for (size_t i = 0; i < subjects->count; i++)
    if (invocation->argument_count > 0 && !is_name_usable(subjects, subjects->items[i].result.name))
      return STATUS_NO;
  return STATUS_OK;
}

static enum status check_links(const struct invocation *invocation, enum report_format format, struct error *err)
{
  if (invocation->argument_count > 0)
    return error_set(err, STATUS_USE, "wrong use", invocation->arguments[0], "one of the two",
                     "--links checks a file, names check what is installed");
  return check_links_run(invocation_value(invocation, "links"), format, err);
}

static bool names_manifests(const struct invocation *invocation)
{
  for (size_t i = 0; i < invocation->argument_count; i++)
    if (manifest_recognises(invocation->arguments[i]))
      return true;
  return false;
}

static enum status check_arguments(const struct invocation *invocation, struct error *err)
{
  for (size_t i = 0; i < invocation->argument_count; i++)
    if (!manifest_recognises(invocation->arguments[i]))
      return error_set(err, STATUS_USE, "wrong use", invocation->arguments[i], "manifests only, or names only",
                       "it is no manifest (.yml), but another argument is");
  return STATUS_OK;
}

static enum status run(const struct invocation *invocation, struct error *err)
{
  enum report_format format;
  XSP_TRY(reader_format(invocation, &format, err));
  if (invocation_has(invocation, "links"))
    return check_links(invocation, format, err);
  XSP_TRY(check_library_options(invocation, err));
  if (names_manifests(invocation)) {
    XSP_TRY(check_arguments(invocation, err));
    return check_manifests(invocation, format, err);
  }
  char pattern[PATH_MAX + 16];
  glob_t tracers = {0};
  struct error no_tracers = {0};
  if (install_find("tracers", pattern, PATH_MAX, &no_tracers) == STATUS_OK) {
    strcat(pattern, "/*.so");
    glob(pattern, 0, NULL, &tracers); // sorted; no match leaves it empty
  } else {
    output_talk_error(&no_tracers);
  }
  struct subjects subjects = {0};
  enum status status = check_names(invocation, &tracers, err);
  if (status == STATUS_OK)
    status = probe_all(invocation, &tracers, &subjects, err);
  struct peaks peaks;
  struct peaks_options how;
  bool has_peaks = status == STATUS_OK && invocation_has(invocation, "peaks");
  if (has_peaks) {
    (void)peaks_wanted(&how); // asked for: XSP_PEAKS=skip does not say no
    peaks_measure(&how, &peaks);
  }
  if (status == STATUS_OK)
    status = print(&subjects, format, invocation->argument_count == 0, has_peaks ? &peaks : NULL, err);
  if (status == STATUS_OK)
    status = verdict(invocation, &subjects, err);
  free(subjects.items);
  globfree(&tracers);
  return status;
}

static const struct option_description options[] = {
    {.name = "library",
     .value_name = "NAME=PATH",
     .repeatable = true,
     .help = "Take this library for the framework NAME and search no further; also by the environment variable "
             "XSP_LIBRARY_NAME."},
    {.name = "links",
     .value_name = "FILE",
     .help =
         "Look at no framework: relate FILE's spans anew, without the parents and operators that its source recorded, "
         "and compare."},
    {.name = "syntax", .help = "Of manifests, read the files only: no model is looked for, made or opened."},
    {.name = "peaks",
     .help = "Measure what the CPUs can do at best, arithmetic and memory: all of them, for a quarter of a second."},
    {0},
};
static const struct verb_example examples[] = {
    {"xsp check", "all frameworks and tracers, and the machine"},
    {"xsp check models/squeezenet_1.1_onnxruntime.yml", "a model manifest, its model and its framework"},
    {"xsp check --links trace.xsp", "do the links that a profiler recorded agree with ours?"},
    {"xsp check onnxruntime && xsp profile model.onnx -o out.xsp", "profile only where ONNX Runtime is usable"},
    {0},
};

const struct verb verb_check = {
    .name = "check",
    .summary = "say which frameworks and tracers can be used here, and why others not",
    .synopsis = "[NAME... | MANIFEST.yml... | --links FILE] [OPTION...]",
    .description =
        "Looks for each framework (predictor) and each tracer, opens it in a process of its own, and says where it was "
        "found, which version it is, or what is missing and what to try. Without a name also what the machine is like: "
        "CPUs and quota, clock, shared memory, permission to use performance counters.\n\n"
        "With a name the status is 1 where neither a framework nor a tracer of that name is usable. A library given by "
        "--library or XSP_LIBRARY_NAME that "
        "does "
        "not open is status 3.\n\n"
        "With manifests (MODEL.yml): is each well-formed, is its model there (a generator is run), has it the "
        "checksum, is the "
        "framework's version one that it takes, do inputs and outputs fit? Nothing is measured. Status 2 where the "
        "manifest or its model is wrong, 3 where the framework or a package is missing.\n\n"
        "With --links, a trace's recorded parents, and the operators that PyTorch's external ids name, are compared "
        "with "
        "what is found without them, by level and basis of what was found; disagreements are named. Status 1 where a "
        "link disagrees. External ids that are only correlation ids name no operator: this is said, and not judged.",
    .most_arguments = SIZE_MAX,
    .options = options,
    .is_reader = true,
    .examples = examples,
    .see_also = "profile, version",
    .run = run,
};
