// SPDX-License-Identifier: Apache-2.0
// xsp check: which frameworks and tracers can be used here, which not and why; what the machine is like.
#include "base/memory.h"
#include "base/nearest.h"
#include "experiment/experiment.h"
#include "launch/launch.h"
#include "manifests/manifests.h"
#include "programs/xsp/check_links.h"
#include "programs/xsp/check_manifest.h"
#include "programs/xsp/check_print.h"
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

// ---- what was given --------------------------------------------------------------------------------------------------
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

static enum status probe_all(const struct invocation *invocation, const glob_t *tracers,
                             struct check_subjects *subjects, struct error *err)
{
  size_t most = tracers->gl_pathc;
  for (size_t i = 0; predictors[i] != NULL; i++)
    most++;
  subjects->items = memory_new(most + 1, sizeof *subjects->items);
  for (size_t i = 0; predictors[i] != NULL; i++) {
    const char *name = predictors[i]->name;
    if (!is_wanted(invocation, name))
      continue;
    struct check_subject *subject = &subjects->items[subjects->count++];
    const char *path = invocation_library(invocation, name);
    subject->kind = SUBJECT_PREDICTOR;
    subject->has_given_library = path != NULL || environment_gives_library(name);
    probe_predictor(predictors[i], path, &subject->result);
  }
  for (size_t i = 0; i < tracers->gl_pathc; i++) {
    char name[64];
    tracer_name(tracers->gl_pathv[i], name, sizeof name);
    if (tracer_is_part(name) || !is_wanted(invocation, name))
      continue;
    struct check_subject *subject = &subjects->items[subjects->count++];
    subject->kind = SUBJECT_TRACER;
    subject->has_given_library = environment_gives_library(name);
    probe_tracer(tracers->gl_pathv[i], &subject->result);
  }
  return STATUS_OK;
}

// A framework and its tracer have one name, and one may be usable without the other.
static bool is_name_usable(const struct check_subjects *subjects, const char *name)
{
  for (size_t i = 0; i < subjects->count; i++)
    if (subjects->items[i].result.is_usable && strcmp(subjects->items[i].result.name, name) == 0)
      return true;
  return false;
}

// A library that was named and does not open is a failure of its own; else "no" only where names were asked for.
static enum status verdict(const struct invocation *invocation, const struct check_subjects *subjects,
                           struct error *err)
{
  for (size_t i = 0; i < subjects->count; i++) {
    const struct check_subject *subject = &subjects->items[i];
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
                       "not a manifest (.yml), but another argument is");
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
    output_error(&no_tracers);
  }
  struct check_subjects subjects = {0};
  enum status status = check_names(invocation, &tracers, err);
  if (status == STATUS_OK)
    status = probe_all(invocation, &tracers, &subjects, err);
  struct peaks peaks;
  struct peaks_options how;
  bool has_peaks = status == STATUS_OK && invocation_has(invocation, "peaks");
  if (has_peaks) {
    (void)peaks_wanted(&how); // --peaks overrides XSP_PEAKS=skip
    peaks_measure(&how, &peaks);
  }
  if (status == STATUS_OK)
    status = check_print(&subjects, format, invocation->argument_count == 0, has_peaks ? &peaks : NULL, err);
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
     .help = "Look at no framework: relate FILE's spans anew, without the parents and operators that its source "
             "recorded, and compare."},
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
    .summary = "list which frameworks and tracers are usable here, and why others are not",
    .synopsis = "[NAME... | MANIFEST.yml... | --links FILE] [OPTION...]",
    .description =
        "Looks for each framework (predictor) and each tracer, opens it in a process of its own, and reports where it "
        "was found, which version it is, or what is missing and what to try. Without a name also what the machine is "
        "like: CPUs and quota, clock, shared memory, permission to use performance counters.\n\n"
        "With a name the status is 1 where neither a framework nor a tracer of that name is usable. A library given by "
        "--library or XSP_LIBRARY_NAME that does not open is status 3.\n\n"
        "With manifests (MODEL.yml): is each well-formed, is its model there (a generator is run), has it the "
        "checksum, is the framework's version one that it takes, do inputs and outputs fit? Nothing is measured. "
        "Status 2 where the manifest or its model is wrong, 3 where the framework or a package is missing.\n\n"
        "With --links, a trace's recorded parents, and the operators that PyTorch's external ids name, are compared "
        "with what is found without them, by level and basis of what was found; disagreements are named. Status 1 "
        "where a link disagrees. External ids that are only correlation ids name no operator: this is reported, and "
        "not judged.",
    .most_arguments = SIZE_MAX,
    .options = options,
    .is_reader = true,
    .examples = examples,
    .see_also = "profile, version",
    .run = run,
};
