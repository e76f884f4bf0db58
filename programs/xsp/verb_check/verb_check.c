// SPDX-License-Identifier: Apache-2.0
// xsp check: which frameworks and tracers can be used here, which not and why; what the machine is like.
#include "base/library.h"
#include "base/nearest.h"
#include "base/python.h"
#include "base/slice.h"
#include "manifests/manifests.h"
#include "programs/xsp/output.h"
#include "programs/xsp/reader.h"
#include "programs/xsp/verb_check/check.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- what was given --------------------------------------------------------------------------------------------------
// Libraries that no predictor opens, only a tracer.
static bool is_tracer_library(const char *name)
{
  for (const struct known_tracer *tracer = launch_known_tracers; tracer->name != NULL; tracer++)
    if (tracer->library != NULL && strcmp(tracer->library, name) == 0)
      return true;
  return false;
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
    char variable[LIBRARY_VARIABLE_SIZE];
    library_variable(name, variable);
    setenv(variable, equals + 1, 1);
  }
  return STATUS_OK;
}

// ---- probing ---------------------------------------------------------------------------------------------------------
// Predictors, then tracers by their files' names.
static void collect_subjects(const struct invocation *invocation, struct arena *arena, struct check_subjects *subjects)
{
  for (size_t i = 0; predictors[i] != NULL; i++)
    *vector_add(&subjects->list) = (struct check_subject){.predictor = predictors[i],
                                                          .name = predictors[i]->name,
                                                          .path = invocation_library(invocation, predictors[i]->name)};
  char folder[PATH_MAX];
  struct error no_tracers = {0};
  if (install_find("tracers", folder, sizeof folder, &no_tracers) != STATUS_OK) {
    output_error(&no_tracers);
    return;
  }
  glob_t files = {0};
  glob(arena_format(arena, "%s/*.so", folder), 0, NULL, &files); // sorted; no match leaves it empty
  for (size_t i = 0; i < files.gl_pathc; i++) {
    const char *path = arena_format(arena, "%s", files.gl_pathv[i]), *file = basename(path);
    const char *name = arena_copy(arena, file, strcspn(file, "."));
    if (!launch_tracer_is_part(name))
      *vector_add(&subjects->list) = (struct check_subject){.name = name, .path = path};
  }
  globfree(&files);
}

static enum status check_name(const char *name, const struct check_subjects *subjects, struct error *err)
{
  struct nearest nearest;
  nearest_start(&nearest, name);
  for (size_t i = 0; i < subjects->list.count; i++) {
    if (strcmp(subjects->list.items[i].name, name) == 0)
      return STATUS_OK;
    nearest_offer(&nearest, subjects->list.items[i].name);
  }
  char advice[128];
  nearest_advice(&nearest, "", "`xsp check`, which names all", advice, sizeof advice);
  return error_set(err, STATUS_USE, "wrong use", name, advice, "no such predictor or tracer");
}

// Probes those that were named, all without a name, and drops the others.
static enum status probe_subjects(const struct invocation *invocation, struct check_subjects *subjects,
                                  struct error *err)
{
  for (size_t i = 0; i < invocation->argument_count; i++)
    XSP_TRY(check_name(invocation->arguments[i], subjects, err));
  size_t wanted = 0;
  if (invocation->argument_count != 1) // several probes, each in a process
    python_keep_answer();
  for (size_t i = 0; i < subjects->list.count; i++) {
    struct check_subject *subject = &subjects->list.items[wanted];
    *subject = subjects->list.items[i];
    if (invocation->argument_count > 0 && !text_is_in(subject->name, invocation->arguments))
      continue;
    wanted++;
    if (subject->predictor != NULL)
      probe_predictor(subject->predictor, subject->path, &subject->result);
    else
      probe_tracer(subject->path, &subject->result);
  }
  python_drop_answer();
  subjects->list.count = wanted;
  return STATUS_OK;
}

// A framework and its tracer have one name, and one may be usable without the other.
static bool is_name_usable(const struct check_subjects *subjects, const char *name)
{
  for (size_t i = 0; i < subjects->list.count; i++)
    if (subjects->list.items[i].result.is_usable && strcmp(subjects->list.items[i].name, name) == 0)
      return true;
  return false;
}

static const char *library_of(const struct check_subject *subject)
{
  const struct known_tracer *tracer = subject->predictor == NULL ? launch_known_tracer(subject->name) : NULL;
  return tracer != NULL && tracer->library != NULL ? tracer->library : subject->name;
}

// A library that was named and does not open is a failure of its own; else "no" only where names were asked for.
static enum status verdict(const struct invocation *invocation, const struct check_subjects *subjects,
                           struct error *err)
{
  for (size_t i = 0; i < subjects->list.count; i++) {
    const struct probe_result *result = &subjects->list.items[i].result;
    char variable[LIBRARY_VARIABLE_SIZE]; // --library sets it, too
    if (!result->is_usable && result->status == STATUS_SYSTEM &&
        library_variable(library_of(&subjects->list.items[i]), variable) != NULL)
      return error_set(err, STATUS_SYSTEM, "cannot use the library that was named", result->name, result->advice, "%s",
                       result->reason);
  }
  for (size_t i = 0; i < invocation->argument_count; i++)
    if (!is_name_usable(subjects, invocation->arguments[i]))
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
  XSP_TRY(verb_reader_format(invocation, &format, err));
  if (invocation_has(invocation, "links"))
    return check_links(invocation, format, err);
  XSP_TRY(check_library_options(invocation, err));
  if (names_manifests(invocation)) {
    XSP_TRY(check_arguments(invocation, err));
    return check_manifests(invocation, format, err);
  }
  struct arena arena SCOPED(arena_done) = {0};
  struct check_subjects subjects = {0};
  struct peaks peaks;
  struct peaks_options how;
  bool has_peaks = invocation_has(invocation, "peaks");
  collect_subjects(invocation, &arena, &subjects);
  enum status status = probe_subjects(invocation, &subjects, err);
  if (status == STATUS_OK && has_peaks) {
    (void)peaks_wanted(&how); // --peaks overrides XSP_PEAKS=skip
    peaks_measure(&how, &peaks);
  }
  if (status == STATUS_OK)
    status = check_print(&subjects, format, invocation->argument_count == 0, has_peaks ? &peaks : NULL, err);
  if (status == STATUS_OK)
    status = verdict(invocation, &subjects, err);
  vector_done(&subjects.list);
  return status;
}

static const struct option_description options[] = {
    {"library", 0, "NAME=PATH", NULL, OPTION_REPEATABLE,
     "Take this library for the framework NAME and search no further; also by the environment variable "
     "XSP_LIBRARY_NAME."},
    {"links", 0, "FILE", NULL, 0,
     "Look at no framework: relate FILE's spans anew, without the parents and operators that its source recorded, and "
     "compare."},
    {"syntax", 0, NULL, NULL, 0, "Of manifests, read the files only: no model is looked for, made or opened."},
    {"peaks", 0, NULL, NULL, 0,
     "Measure what the CPUs can do at best, arithmetic and memory: all of them, for a quarter of a second."},
    {0},
};
static const struct verb_example examples[] = {
    {"xsp check", "all frameworks and tracers, and the machine"},
    {"xsp check lab/models/squeezenet_1.1_onnxruntime.yml", "a model manifest, its model and its framework"},
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
