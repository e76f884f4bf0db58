// SPDX-License-Identifier: Apache-2.0
// xsp evaluate: models over labelled data.
#include "base/file_place.h"
#include "programs/xsp/isolation_options.h"
#include "programs/xsp/output.h"
#include "programs/xsp/publish_options.h"
#include "programs/xsp/reader.h"
#include "programs/xsp/span_stream.h"
#include "programs/xsp/verb_agent/agents.h"
#include "programs/xsp/verb_data/data.h"
#include "programs/xsp/verb_evaluate/evaluate.h"
#include "programs/xsp/verb_profile/profile.h"

#include <stdlib.h>

static const struct option_description options[] = {
    {"data", 'd', "SET", NULL, 0,
     "The inputs: a folder with a folder of pictures for each class, a .csv file with a picture's file and its label "
     "on "
     "each line, a .json file of boxes as COCO has it, an .xspd file (`xsp data`), or a URL of one, which is fetched "
     "once. Required."},
    {"data-sha256", 0, "HEX", NULL, 0, "The checksum of --data, as sha256sum prints it; another file is refused."},
    {"batch", 'b', "N", "1", 0, "Pictures of an inference."},
    {"limit", 0, "N", "0", 0, "Only the first N pictures; 0: all."},
    {"warmup", 'w', "N", "1", 0, "Inferences before, which do not count."},
    {"precision", 0, "PCT", NULL, 0,
     "Then go on with the pictures, for their times alone, until the latency is known within so many percent: its 95 % "
     "interval (docs/analyses.md), looked at after 10 inferences and then at every fifth more."},
    {"max-runs", 0, "N", "10000", 0, "With --precision: inferences at most."},
    {"scenario", 's', "NAME", NULL, OPTION_REPEATABLE,
     "After the pictures: also how fast it is when queries arrive as in MLPerf: single-stream, multi-stream, server or "
     "offline."},
    {"duration", 0, "SECONDS", "10", 0, "Of a scenario, at least."},
    {"queries", 0, "N", NULL, 0,
     "Of a scenario, at least. Default: 64; 662 for multi-stream and server; 1 for offline."},
    {"qps", 0, "N", NULL, 0, "server: queries a second. Default: the most that keep to --latency-bound, by search."},
    {"latency-bound", 0, "MS", "10", 0, "server: of the 99th percentile."},
    {"samples", 0, "N", "256", 0, "Pictures that scenarios choose from; they are prepared before and kept in memory."},
    {"levels", 'l', "SET", "M", 0,
     "What to record, such as M, M/L, or with a tracer M/L/K. Layers slow a model down, so its latency is that of M."},
    PROFILE_RUNNER_OPTIONS,
    {"items", 0, NULL, NULL, 0,
     "Also tables with what was found in each picture, and with each class; with --first-difference all layers."},
    {"keep-outputs", 0, NULL, NULL, 0, "Keep the values of each picture's output in the file (table output)."},
    {"first-difference", 0, NULL, NULL, 0,
     "Instead: find the first layer at which two models part, on the first --batch pictures."},
    {"tolerance", 0, "N", "0.0001", 0,
     "For --first-difference: what a tensor's values may differ by, as a fraction of its largest value."},
    {"output", 'o', "FILE.xsp", NULL, 0,
     "The .xsp file to write. Default: the first model's name, in the current folder."},
    OPTION_FORCE,
    {"library", 0, "NAME=PATH", NULL, OPTION_REPEATABLE, "A framework's library, or a folder with it."},
    {"threads", 0, "N", "0", 0, "Threads of the framework; 0: its default."},
    {"timeout", 0, "SECONDS", "0", 0, "Kill a runner that does not answer for so long; 0: wait for ever."},
    OPTIONS_ISOLATION,
    OPTIONS_PUBLISH(
        "Send the spans too, of one model to an xsp serve while it is evaluated, else when the file is complete,"),
    OPTIONS_ON_AGENTS(
        "Evaluate", "Models are names then, NAME or NAME==1.0, and --data is a name below the agents' folder of data."),
    {0},
};

static const struct verb_example examples[] = {
    {"xsp evaluate models/digits_onnxruntime.yml --data digits/", "how often it is right, and how long it takes"},
    {"xsp evaluate rgb.yml bgr.yml --data pictures.csv --items", "two ways to prepare pictures, side by side"},
    {"xsp evaluate yolo.yml --data val/instances.json", "mean average precision of boxes, as COCO defines it"},
    {"xsp evaluate rgb.yml bgr.yml --data pictures.csv --first-difference", "at which layer two models part"},
    {"xsp evaluate net --data digits --registry http://etcd:2379 --on 'gpus>=1' --all", "on all machines with a GPU"},
    {0},
};

// ---- a model ---------------------------------------------------------------------------------------------------------
// The output that is evaluated; NULL: the only one, which has scores.
static enum status find_output(const struct manifest *manifest, const struct manifest_tensor **ret_output,
                               struct error *err)
{
  *ret_output = NULL;
  for (size_t i = 0; i < manifest->output_count; i++) {
    const struct manifest_tensor *output = &manifest->outputs[i];
    if (output->expectation.form.kind == OUTPUT_TENSOR)
      continue;
    if (*ret_output != NULL)
      return manifest_wrong(manifest, output->line, STATUS_INPUT, "type: of one of them", err,
                            "line %u has an output to evaluate, too", (*ret_output)->line);
    *ret_output = output;
  }
  return STATUS_OK;
}

static bool has_pictures(const struct manifest *manifest)
{
  bool found = false;
  for (size_t i = 0; i < manifest->input_count; i++)
    found |= manifest->inputs[i].expectation.is_image;
  return found;
}

static enum status fill_output(const struct manifest *manifest, struct arena *arena, struct evaluation_model *model,
                               struct error *err)
{
  const struct manifest_tensor *output;
  const char **labels = NULL;
  XSP_TRY(find_output(manifest, &output, err));
  model->kind = output != NULL ? output->expectation.form.kind : OUTPUT_SCORES;
  model->output = output != NULL ? output->expectation.info.name : "";
  model->separator = output != NULL ? output->separator : "";
  if (output == NULL || output->labels_file == NULL)
    return STATUS_OK;
  const char *path = NULL;
  XSP_TRY(manifest_asset(manifest, output->labels_file, NULL, output_message, arena, &path, err));
  XSP_TRY(data_labels_read(path, arena, &labels, &model->label_count, err));
  model->labels = labels;
  return STATUS_OK;
}

static enum status fill_model(const struct invocation *invocation, const char *path, struct arena *arena,
                              struct evaluation_model *model, const struct manifest **ret_manifest, struct error *err)
{
  struct profile_options *profile = &model->profile;
  XSP_TRY(profile_runner(invocation, &profile->runner, arena, err)); // wrong use comes first
  XSP_TRY(option_level_sets(invocation_value(invocation, "levels"), profile->sets, 1, &profile->set_count, err));
  XSP_TRY(profile_model(invocation, path, arena, profile, ret_manifest, err));
  const struct manifest *manifest = *ret_manifest;
  if (manifest == NULL || !has_pictures(manifest))
    return error_set(
        err, STATUS_INPUT, "cannot evaluate the model", path,
        manifest == NULL
            ? arena_format(arena, "`xsp manifest init %s`, if pictures are its input; else xsp profile %s", path, path)
            : arena_format(arena, "xsp profile %s, or `type: image` for an input that is of pictures", path),
        manifest == NULL ? "it is not a manifest (.yml)" : "no input of it is of pictures");
  if (profile->variant_count > 1)
    return error_set(err, STATUS_USE, "wrong use", "--library", "one library for each framework",
                     "several are given for %s", profile->variants[0].predictor);
  if (predictor_find(profile->variants[0].predictor)->read_output == NULL)
    return error_set(err, STATUS_INPUT, "cannot evaluate the model", path, "a manifest for another framework",
                     "xsp does not read outputs of %s", profile->variants[0].predictor);
  XSP_TRY(profile_recording(invocation, manifest->device, profile, arena, err));
  profile->runner.interrupted = output_interruptions();
  profile->runner.preprocess = manifest->preprocess;
  profile->runner.postprocess = manifest->postprocess;
  XSP_TRY(profile_check_levels(invocation, profile, err));
  if (profile->set_count > 1)
    return error_set(err, STATUS_USE, "an evaluation has one level set", "--cuda", "xsp profile, for hardware metrics",
                     "metrics need runs of their own");
  profile->command = profile_command(arena);
  return fill_output(manifest, arena, model, err);
}

// ---- scenarios -------------------------------------------------------------------------------------------------------
static enum status fill_scenarios(const struct invocation *invocation, struct arena *arena,
                                  struct evaluation_options *evaluation, struct error *err)
{
  static const size_t least[SCENARIO_KINDS] = {64, 662, 662, 1};
  struct scenario *scenarios = arena_alloc_array(arena, SCENARIO_KINDS, sizeof *scenarios);
  int64_t samples = 0, queries = 0;
  const char *name;
  XSP_TRY(invocation_int64(invocation, "samples", 1, DATA_ITEMS_MOST, &samples, err));
  evaluation->sample_count = (size_t)samples;
  evaluation->scenarios = scenarios;
  for (size_t i = 0; (name = invocation_value_at(invocation, "scenario", i)) != NULL; i++) {
    struct scenario scenario = {0};
    if (!scenario_parse(name, &scenario.kind))
      return error_set(err, STATUS_USE, "wrong use", "--scenario", "single-stream, multi-stream, server or offline",
                       "there is no scenario %s", name);
    if (i == SCENARIO_KINDS)
      return error_set(err, STATUS_USE, "wrong use", "--scenario", "each once", "there are more than %d",
                       SCENARIO_KINDS);
    scenario.queries = least[scenario.kind];
    scenario.batch = scenario.kind == SCENARIO_OFFLINE        ? evaluation->batch
                     : scenario.kind == SCENARIO_MULTI_STREAM ? 8
                                                              : 1;
    XSP_TRY(invocation_double(invocation, "duration", 0, 86400, &scenario.seconds, err));
    XSP_TRY(invocation_double(invocation, "latency-bound", 0, 1e6, &scenario.bound_ms, err));
    if (invocation_has(invocation, "qps"))
      XSP_TRY(invocation_double(invocation, "qps", 1e-3, 1e6, &scenario.qps, err));
    if (invocation_has(invocation, "queries")) {
      XSP_TRY(invocation_int64(invocation, "queries", 1, INT32_MAX, &queries, err));
      scenario.queries = (size_t)queries;
    }
    scenarios[evaluation->scenario_count++] = scenario;
  }
  return STATUS_OK;
}

// A folder has no checksum, and nothing to fetch.
static enum status read_data(const struct invocation *invocation, const char *data, bool with_masks,
                             struct arena *arena, struct data_set *set, struct error *err)
{
  struct asset_request request;
  const char *path = data;
  XSP_TRY(data_fetch_request(invocation, &request, err));
  request.url = data;
  request.sha256 = invocation_value(invocation, "data-sha256");
  if (request.sha256 != NULL || asset_is_url(data)) {
    enum status status = asset_get(&request, arena, &path, err);
    output_progress(NULL, true);
    XSP_TRY(status);
  }
  XSP_TRY(data_set_read(path, with_masks, arena, set, err));
  set->path = data;
  set->sha256 = request.sha256;
  return STATUS_OK;
}

// ---- the evaluation --------------------------------------------------------------------------------------------------
static enum status fill(const struct invocation *invocation, struct arena *arena, struct data_set *set,
                        struct evaluation_options *evaluation, const struct manifest **manifests, struct error *err)
{
  struct evaluation_model *models = arena_alloc_array(arena, invocation->argument_count, sizeof *models);
  const char *data = invocation_value(invocation, "data");
  int64_t limit = 0;
  if (data == NULL)
    return error_set(err, STATUS_USE, "wrong use", "--data", "--data FOLDER", "there are no inputs");
  *evaluation = (struct evaluation_options){.models = models,
                                            .model_count = invocation->argument_count,
                                            .set = set,
                                            .output_path = invocation_value(invocation, "output"),
                                            .force = invocation_has(invocation, "force"),
                                            .keep_outputs = invocation_has(invocation, "keep-outputs"),
                                            .progress = invocation_has(invocation, "quiet") ? NULL : output_progress,
                                            .warning = output_message,
                                            .interrupted = output_interruptions()};
  XSP_TRY(invocation_int64(invocation, "batch", 1, 4096, &evaluation->batch, err));
  XSP_TRY(invocation_int64(invocation, "limit", 0, DATA_ITEMS_MOST, &limit, err));
  XSP_TRY(invocation_unsigned(invocation, "warmup", 0, 1000, &evaluation->warmups, err));
  if (invocation_has(invocation, "precision"))
    XSP_TRY(invocation_percent(invocation, "precision", 0.001, 100, &evaluation->precision_pct, err));
  XSP_TRY(invocation_unsigned(invocation, "max-runs", 1, 1000000, &evaluation->runs_most, err));
  evaluation->limit = (size_t)limit;
  XSP_TRY(fill_scenarios(invocation, arena, evaluation, err));
  bool with_masks = false;
  struct profile_variant *variants = arena_alloc_array(arena, invocation->argument_count, sizeof *variants);
  for (size_t i = 0; i < invocation->argument_count; i++) {
    XSP_TRY(fill_model(invocation, invocation->arguments[i], arena, &models[i], &manifests[i], err));
    variants[i] = models[i].profile.variants[0];
    with_masks |= models[i].kind == OUTPUT_INSTANCES;
  }
  XSP_TRY(profile_check_libraries(invocation, variants, invocation->argument_count, err));
  if (evaluation->output_path == NULL)
    evaluation->output_path = arena_format(arena, "%s.xsp", models[0].profile.name);
  if (!invocation_has(invocation, "first-difference")) // before minutes of work, not after
    XSP_TRY(file_place_check(evaluation->output_path, evaluation->force, err));
  XSP_TRY(read_data(invocation, data, with_masks, arena, set, err));
  return isolation_options(invocation, manifests, set, models, evaluation->model_count, arena, err);
}

// Before the models are read.
static enum status check_difference(const struct invocation *invocation, double *ret_tolerance, struct error *err)
{
  char *end = NULL;
  const char *text = invocation_value(invocation, "tolerance");
  *ret_tolerance = strtod(text, &end);
  if (end == text || *end != 0 || !(*ret_tolerance >= 0))
    return error_set(err, STATUS_USE, "wrong use", "--tolerance", "0.0001", "not a number from 0 on: %s", text);
  if (invocation_has(invocation, "first-difference") && invocation->argument_count != 2)
    return error_set(err, STATUS_USE, "wrong use", "--first-difference", "two manifests", "%zu are given",
                     invocation->argument_count);
  return STATUS_OK;
}

static enum status run_here(const struct invocation *invocation, enum report_format format, struct error *err)
{
  struct arena arena = {0};
  struct data_set set;
  struct evaluation_options evaluation;
  struct evaluation result = {0};
  struct publisher *publisher = NULL;
  struct span_stream *stream = NULL;
  const struct manifest *manifests[EVALUATION_MODELS_MOST];
  double tolerance;
  XSP_TRY(check_difference(invocation, &tolerance, err));
  enum status status = fill(invocation, &arena, &set, &evaluation, manifests, err);
  if (status == STATUS_OK && invocation_has(invocation, "first-difference")) {
    status = evaluate_difference(&evaluation, manifests, tolerance, invocation_has(invocation, "items"), format, err);
    arena_done(&arena);
    return status;
  }
  if (status == STATUS_OK)
    status = publish_options(invocation, &publisher, err);
  if (status == STATUS_OK && evaluation.model_count == 1 && evaluation.scenario_count == 0)
    status = span_stream_open(invocation, publisher, true, &stream, err);
  if (status == STATUS_OK) {
    evaluation.watcher = (struct lane_watcher){stream == NULL ? NULL : span_stream_hand_on, stream};
    output_watch_interruptions();
    status = evaluation_run(&evaluation, &result, err);
  }
  if (status == STATUS_OK)
    status = evaluate_print(&evaluation, &result, invocation_has(invocation, "items"), format, err);
  if (status == STATUS_OK && !invocation_has(invocation, "quiet"))
    output_next(evaluation.output_path);
  if (status == STATUS_OK)
    span_stream_after(stream, publisher, result.store);
  span_stream_close(stream);
  publish_close(publisher);
  evaluation_done(&result);
  arena_done(&arena);
  return output_end_interrupted(status, err);
}

static enum status run(const struct invocation *invocation, struct error *err)
{
  return agents_measure_or(invocation, run_here, err);
}

const struct verb verb_evaluate = {
    .name = "evaluate",
    .summary = "measure how often models are right, over labelled pictures",
    .synopsis = "MANIFEST... --data SET [OPTION...]",
    .description =
        "Each MANIFEST has a model, how pictures are prepared for it, and the names of its classes "
        "(docs/evaluate.md). The pictures are decoded, resized, cut and normalised, the model predicts, and the "
        "best classes, boxes, masks, instances or texts are compared with the labels. Each step is a span; the file "
        "has an "
        "experiment for each model.\n\n"
        "The models run one after the other, each in a process of its own.\n\n"
        "With --registry, agents of other machines evaluate instead (docs/agents.md). Status 3 where no agent "
        "satisfies "
        "the constraints: what each one misses is on stderr.",
    .least_arguments = 1,
    .most_arguments = EVALUATION_MODELS_MOST,
    .options = options,
    .is_reader = true,
    .examples = examples,
    .see_also = "profile, analyze, compare, agent",
    .run = run,
};
