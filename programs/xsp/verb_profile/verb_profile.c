// SPDX-License-Identifier: Apache-2.0
// `xsp profile`: options in, experiment, tables out. The measuring is in lab/experiment/model_experiment.c.
#include "base/file_place.h"
#include "base/small_file.h"
#include "launch/launch.h"
#include "programs/runner/process.h"
#include "programs/xsp/output.h"
#include "programs/xsp/publish_options.h"
#include "programs/xsp/reader.h"
#include "programs/xsp/span_stream.h"
#include "programs/xsp/verb_agent/agents.h"
#include "programs/xsp/verb_profile/profile.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static const struct option_description options[] = {
    {"batch", 'b', "N,N,...", "1", 0, "Batch sizes to measure, in this order. A manifest may have others as default."},
    {"levels", 'l', "SET,SET,...", "M,M/L", 0,
     "Level sets to measure: levels A, M, L, Lib, K joined by '/', with K also +metrics after it: hardware metrics of "
     "kernels. Each set is measured in runs of its own, interleaved with the others, so that the latency of a level is "
     "free of what the levels below it cost."},
    {"serialize", 0, NULL, NULL, 0,
     "Also measure the deepest level set with launches one after the other (@serial), interleaved with the others: "
     "layers then last as long as their kernels."},
    {"runs", 'r', "N", "10", 0, "Counted observations per batch size and level set."},
    {"precision", 0, "PCT", NULL, 0,
     "Go on until the latency of each batch size, at the first level set, is known within so many percent: its 95 % "
     "interval (docs/analyses.md), looked at after --runs observations and then at every fifth more."},
    {"max-runs", 0, "N", "10000", 0, "With --precision: observations at most, for each batch size and level set."},
    {"warmup", 'w', "N", "3", 0,
     "Observations before them, kept in the file but in no statistic. At least one is made: the first inference of a "
     "shape is never pooled with the others."},
    {"cold", 0, "N", "0", 0,
     "Then start N fresh processes for each framework, batch size and level set of models and layers alone, each of "
     "which loads the model and makes its first inference: both are shown next to the others and pooled with none. "
     "Layers of first inferences: xsp analyze A2 --cold. Costs N times loading the model for each of them."},
    {"output", 'o', "FILE", NULL, 0, "The .xsp file to write. Default: the model's name, in the current folder."},
    OPTION_FORCE,
    {"framework", 0, "NAME,NAME,...", NULL, 0,
     "The framework to run the model in. Default: recognised by the file's name. Several are compared: each is an "
     "experiment of its own in the file, and their observations are interleaved in time."},
    {"library", 0, "NAME=PATH", NULL, OPTION_REPEATABLE,
     "The framework library to open: its file, or the folder of a Python environment or of a package to find it in, "
     "for example onnxruntime=/opt/ort-1.20. Given several times for one framework, its versions are compared. Also "
     "XSP_LIBRARY_NAME."},
    {"sequential", 0, NULL, NULL, 0,
     "Measure several frameworks or versions one after the other, not interleaved: only one of them is in memory at a "
     "time, but what drifts on the machine falls on them unequally."},
    {"threads", 0, "N", "0", 0, "Threads of the framework's pool within an operator; 0: the framework's default."},
    {"affinity", 0, "CPULIST", NULL, 0, "CPUs the runner may use, for example 0-3,8."},
    {"seed", 0, "N", "0", 0, "Seed of the input values."},
    {"input", 0, "NAME=FILE.npy", NULL, OPTION_REPEATABLE,
     "Values of an input, from a NumPy file of the right type and shape."},
    {"dim", 0, "NAME=N", NULL, OPTION_REPEATABLE,
     "Size of a free dimension of the model, by its name. The batch dimension is --batch."},
    PROFILE_RUNNER_OPTIONS,
    {"profile-file", 0, NULL, NULL, 0,
     "Take layers from the profile file of ONNX Runtime even where it can announce them while it runs."},
    {"unfused", 0, NULL, NULL, 0,
     "Leave out the framework's rewrites that make one layer of several operators, so that each is a layer of its own. "
     "The model is slower so."},
    {"pin-algorithms", 0, NULL, NULL, 0,
     "Ask the framework for the same algorithms in every process, where it has a switch for that, so that level sets "
     "run the same kernels. They may be slower ones."},
    OPTION_COUNTERS,
    {"no-peaks", 0, NULL, NULL, 0,
     "Do not measure first what the CPUs can do at best (a quarter of a second), which rooflines need; also by the "
     "environment variable XSP_PEAKS=skip."},
    {"timeout", 0, "SECONDS", "0", 0, "Kill a runner that does not answer for so long; 0: wait for ever."},
    OPTIONS_PUBLISH("Send the spans too, to an xsp serve while it measures, else when the file is complete,"),
    OPTIONS_ON_AGENTS("Measure", "MODEL is a name then, NAME or NAME==1.0."),
    {0},
};

static const struct verb_example examples[] = {
    {"xsp profile resnet50.onnx --batch 1,2,4,8 -o resnet50.xsp", "model and layer level, over four batch sizes"},
    {"xsp profile lab/models/squeezenet_1.1_onnxruntime.yml",
     "by its manifest: where it comes from, what it takes (docs/manifests.md)"},
    {"xsp profile bert.onnx --dim sequence=128 --threads 4", "a free dimension fixed, four threads"},
    {"xsp profile resnet50.onnx --cold 5", "also what loading and a first inference take"},
    {"xsp profile resnet50.onnx --framework onnxruntime,openvino", "two frameworks, side by side"},
    {"xsp profile resnet50.onnx --library onnxruntime=/opt/ort-1.20 --library onnxruntime=/opt/ort-1.25",
     "two versions of one framework"},
    {0},
};

// Before the model is read: what is wrong with the command line comes first.
static enum status given_level_sets(const struct invocation *invocation, struct profile_options *profile,
                                    struct error *err)
{
  const char *text = invocation_value(invocation, "levels");
  XSP_TRY(option_level_sets(text, profile->sets, PROFILE_SETS_MAXIMUM, &profile->set_count, err));
  return invocation_has(invocation, "serialize")
             ? option_add_serial_set(profile->sets, PROFILE_SETS_MAXIMUM, &profile->set_count, err)
             : STATUS_OK;
}

enum status profile_check_levels(const struct invocation *invocation, struct profile_options *profile,
                                 struct error *err)
{
  const char *text;
  bool has_metrics = false;
  for (size_t i = 0; (text = invocation_value_at(invocation, "tracer", i)) != NULL; i++)
    has_metrics |= launch_tracer_has_metrics(text);
  profile->runner.cuda = invocation_value(invocation, "cuda");
  XSP_TRY(option_metric_sets(profile->runner.cuda, has_metrics, profile->sets, PROFILE_SETS_MAXIMUM,
                             &profile->set_count, err));
  bool has_kernels = profile->tracers != NULL;
  for (size_t i = 0; i < profile->variant_count; i++)
    has_kernels |= predictor_find(profile->variants[i].predictor)->tells_units;
  for (size_t i = 0; i < profile->set_count; i++) {
    char set[LEVEL_SET_TEXT_SIZE];
    level_set_format(profile->sets[i], set);
    if (!(profile->sets[i].mask & XSP_LEVEL_MASK(XSP_LEVEL_MODEL)))
      return error_set(err, STATUS_USE, "a level set without the model level", "--levels", "M in every set",
                       "'%s' would have nothing to compare with", set);
    if (profile->sets[i].mask & XSP_LEVEL_MASK(XSP_LEVEL_KERNEL) && !has_kernels)
      return error_set(err, STATUS_USE, "no tracer for the kernel level", "--levels",
                       "--tracer cuda, or sets without K", "'%s' needs one", set);
  }
  return STATUS_OK;
}

static enum status batch_sizes(const struct invocation *invocation, struct profile_options *profile, struct error *err)
{
  int64_t *values = NULL;
  size_t count = 0;
  XSP_TRY(option_int64_list("batch", invocation_value(invocation, "batch"), 1 << 20, &values, &count, err));
  enum status status = STATUS_OK;
  if (count > PROFILE_BATCHES_MAXIMUM)
    status = error_set(err, STATUS_USE, "too many batch sizes", "--batch", NULL, "at most %d", PROFILE_BATCHES_MAXIMUM);
  for (size_t i = 0; i < count && status == STATUS_OK; i++) {
    for (size_t earlier = 0; earlier < i; earlier++)
      if (values[earlier] == values[i])
        status = error_set(err, STATUS_USE, "a batch size is given twice", "--batch", NULL, "%" PRId64, values[i]);
    profile->batches[profile->batch_count++] = values[i];
  }
  free(values);
  return status;
}

// All --tracer options as one XSP_TRACERS text, absolute; NULL: none.
static enum status tracer_list(const struct invocation *invocation, const char *own_tracers, struct arena *arena,
                               const char **ret_list, struct error *err)
{
  const char *list = NULL;
  const char *text;
  for (size_t i = 0; (text = invocation_value_at(invocation, "tracer", i)) != NULL; i++) {
    size_t length = strcspn(text, ":");
    char *file = arena_copy(arena, text, length);
    if (memchr(text, '/', length) == NULL)
      file = arena_format(arena, "%s/%s.so", own_tracers, file);
    char real[PATH_MAX];
    if (realpath(file, real) == NULL)
      return error_set_errno(err, STATUS_USE, "no such tracer", file, "xsp check");
    if (strpbrk(real, ",:") != NULL)
      return error_set(err, STATUS_USE, "cannot pass this path on", real, "a path without ',' and ':'",
                       "lists of tracers are separated by them");
    list = list == NULL ? arena_format(arena, "%s%s", real, text + length)
                        : arena_format(arena, "%s,%s%s", list, real, text + length);
  }
  *ret_list = list;
  return STATUS_OK;
}

const char *profile_command(struct arena *arena)
{
  char text[4096];
  size_t length = small_file_read("/proc/self/cmdline", text, sizeof text);
  while (length > 0 && text[length - 1] == 0)
    length--;
  for (size_t i = 0; i < length; i++)
    if (text[i] == 0)
      text[i] = ' ';
  return arena_copy(arena, text, length);
}

enum status profile_runner(const struct invocation *invocation, struct runner_options *runner, struct arena *arena,
                           struct error *err)
{
  char *program = arena_alloc(arena, PATH_MAX), *tracers = arena_alloc(arena, PATH_MAX);
  XSP_TRY(install_find("xsp-runner", program, PATH_MAX, err));
  XSP_TRY(install_find("tracers", tracers, PATH_MAX, err));
  runner->program = program;
  runner->tracer_directory = tracers;
  XSP_TRY(invocation_unsigned(invocation, "threads", 0, 4096, &runner->threads, err));
  return invocation_unsigned(invocation, "timeout", 0, 86400, &runner->timeout_s, err);
}

enum status profile_recording(const struct invocation *invocation, const char *device, struct profile_options *profile,
                              struct arena *arena, struct error *err)
{
  struct runner_options *runner = &profile->runner;
  runner->device = invocation_has(invocation, "device") ? invocation_value(invocation, "device") : device;
  for (size_t i = 0; runner->device != NULL && i < profile->variant_count; i++)
    if (!predictor_find(profile->variants[i].predictor)->has_devices)
      return error_set(err, STATUS_USE, "cannot choose the device", "--device", "the same without --device",
                       "the predictor of %s has no way to", profile->variants[i].predictor);
  runner->call_paths = invocation_value(invocation, "call-paths");
  return tracer_list(invocation, runner->tracer_directory, arena, &profile->tracers, err);
}

static enum status fill_runner(const struct invocation *invocation, struct profile_options *profile,
                               struct arena *arena, struct error *err)
{
  struct runner_options *runner = &profile->runner;
  const struct manifest *manifest;
  int64_t seed = 0;
  XSP_TRY(profile_runner(invocation, runner, arena, err));
  XSP_TRY(invocation_int64(invocation, "seed", 0, INT64_MAX, &seed, err));
  runner->seed = (uint64_t)seed;
  XSP_TRY(profile_model(invocation, invocation->arguments[0], arena, profile, &manifest, err));
  profile->sequential = invocation_has(invocation, "sequential");
  XSP_TRY(profile_recording(invocation, manifest != NULL ? manifest->device : NULL, profile, arena, err));
  runner->affinity = invocation_value(invocation, "affinity");
  runner->counters = invocation_value(invocation, "counters");
  XSP_TRY(launch_check_span_counters(runner->counters, output_message, err));
  runner->profile_file = invocation_has(invocation, "profile-file");
  runner->unfused = invocation_has(invocation, "unfused");
  runner->pin_algorithms = invocation_has(invocation, "pin-algorithms");
  for (size_t i = 0; runner->unfused && i < profile->variant_count; i++)
    if (!predictor_find(profile->variants[i].predictor)->has_unfused)
      return error_set(err, STATUS_USE, "cannot run the operators apart", "--unfused", "the same without --unfused",
                       "the predictor of %s has no way to", profile->variants[i].predictor);
  return STATUS_OK;
}

// How many observations, as the command line has it.
static enum status fill_counts(const struct invocation *invocation, struct profile_options *profile, struct error *err)
{
  if (invocation_has(invocation, "batch")) // else a manifest may have them
    XSP_TRY(batch_sizes(invocation, profile, err));
  XSP_TRY(invocation_unsigned(invocation, "runs", 1, 1000000, &profile->runs, err));
  if (invocation_has(invocation, "precision"))
    XSP_TRY(invocation_percent(invocation, "precision", 0.001, 100, &profile->precision_pct, err));
  XSP_TRY(invocation_unsigned(invocation, "max-runs", 1, 1000000, &profile->runs_most, err));
  if (profile->precision_pct > 0 && profile->runs_most < profile->runs)
    return error_set(err, STATUS_USE, "wrong use", "--max-runs", "fewer --runs", "it is below --runs, %u",
                     profile->runs);
  XSP_TRY(invocation_unsigned(invocation, "warmup", 0, 1000000, &profile->warmups, err));
  if (profile->warmups == 0)
    profile->warmups = 1;
  return invocation_unsigned(invocation, "cold", 0, 10000, &profile->cold, err);
}

static enum status fill_options(const struct invocation *invocation, struct profile_options *profile,
                                struct arena *arena, struct error *err)
{
  XSP_TRY(given_level_sets(invocation, profile, err));
  XSP_TRY(fill_counts(invocation, profile, err));
  XSP_TRY(fill_runner(invocation, profile, arena, err));
  XSP_TRY(profile_check_levels(invocation, profile, err));
  if (profile->batch_count == 0)
    XSP_TRY(batch_sizes(invocation, profile, err));
  profile->command = profile_command(arena);
  profile->output_path = invocation_value(invocation, "output");
  if (profile->output_path == NULL)
    profile->output_path = arena_format(arena, "%s.xsp", profile->name);
  if (profile->output_path != NULL && profile->output_path[0] == 0)
    return error_set(err, STATUS_USE, "wrong use", "--output", "-o FILE.xsp", "the output's name is empty");
  profile->force = invocation_has(invocation, "force");
  profile->progress = invocation_has(invocation, "quiet") ? NULL : output_progress;
  profile->warning = output_message;
  XSP_TRY(file_place_check(profile->output_path, profile->force, err)); // before minutes of work, not after
  profile->interrupted = profile->runner.interrupted = output_interruptions();
  return STATUS_OK;
}

// On the CPUs that the runners will have, before there are any. False: not wanted, or the list of CPUs is wrong, which the
// runner will say.
static bool measure_peaks(const struct invocation *invocation, struct peaks *ret_peaks)
{
  struct peaks_options how;
  const char *affinity = invocation_value(invocation, "affinity");
  cpu_set_t before;
  if (invocation_has(invocation, "no-peaks") || !peaks_wanted(&how))
    return false;
  if (affinity == NULL) {
    peaks_measure(&how, ret_peaks);
    return true;
  }
  if (sched_getaffinity(0, sizeof before, &before) != 0 || affinity_set(affinity, NULL) != STATUS_OK)
    return false;
  peaks_measure(&how, ret_peaks);
  return sched_setaffinity(0, sizeof before, &before) == 0;
}

static enum status run_here(const struct invocation *invocation, enum report_format format, struct error *err)
{
  struct arena arena = {0};
  struct profile_options profile = {0};
  struct profile_result result = {0};
  struct peaks peaks;
  struct publisher *publisher = NULL;
  struct span_stream *stream = NULL;
  enum status status = fill_options(invocation, &profile, &arena, err);
  if (status == STATUS_OK)
    status = publish_options(invocation, &publisher, err);
  if (status == STATUS_OK)
    status = span_stream_open(invocation, publisher, true, &stream, err);
  if (status == STATUS_OK) {
    profile.watcher = (struct lane_watcher){stream == NULL ? NULL : span_stream_hand_on, stream};
    profile.peaks = measure_peaks(invocation, &peaks) ? &peaks : NULL;
    output_watch_interruptions();
    status = experiment_profile(&profile, &result, err);
  }
  if (status == STATUS_OK)
    status = profile_print(&profile, &result, format, !invocation_has(invocation, "quiet"), err);
  if (status == STATUS_OK)
    span_stream_after(stream, publisher, result.store);
  span_stream_close(stream);
  publish_close(publisher);
  store_close(result.store);
  arena_done(&arena);
  return output_end_interrupted(status, err);
}

static enum status run(const struct invocation *invocation, struct error *err)
{
  return agents_measure_or(invocation, run_here, err);
}

const struct verb verb_profile = {
    .name = "profile",
    .summary = "measure a model over batch sizes and levels",
    .synopsis = "MODEL [OPTION...]",
    .description = "MODEL is a model's file or folder, a function that makes one (FILE.py:FUNCTION, for PyTorch), or a "
                   "manifest (.yml), which has the origin of the model, which framework and versions of it run it and "
                   "what it takes; options override it. Models that its generator makes are kept in the folder "
                   "XSP_MODEL_CACHE, by default ~/.cache/xsp/models.\n\n"
                   "Runs the model in its framework, in processes of their own, at each level set and batch size, "
                   "interleaved in time; writes an .xsp file and prints what it found.\n\n"
                   "The difference between the latency at one level set and the next is what tracing the deeper level "
                   "cost: the overhead is part of the result, and no level's figures contain it.",
    .least_arguments = 1,
    .most_arguments = 1,
    .options = options,
    .is_reader = true,
    .examples = examples,
    .see_also = "analyze, info, export, check",
    .run = run,
};
