// SPDX-License-Identifier: Apache-2.0
// The model argument of `xsp profile` and `xsp evaluate`; see profile.h. A manifest has defaults: the command line overrides them
// where that leaves the same model.
#include "agent/constraint.h"
#include "agent/machine.h"
#include "base/slice.h"
#include "programs/xsp/output.h"
#include "programs/xsp/verb_profile/profile.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

static const char *const *repeated(const struct invocation *invocation, const char *name, struct arena *arena)
{
  size_t count = 0;
  while (invocation_value_at(invocation, name, count) != NULL)
    count++;
  const char **values = arena_alloc_array(arena, count + 1, sizeof *values);
  for (size_t i = 0; i < count; i++)
    values[i] = invocation_value_at(invocation, name, i);
  return values;
}

// Without the ending of its kind of file. Other dots belong to the name: "mobilenet_v1_0.25.onnx". Of a function its name.
static const char *model_name(const char *path, struct arena *arena)
{
  if (predictor_names_function(path))
    return strrchr(path, ':') + 1;
  static const char *const long_endings[] = {"-symbol.json", ".script.txt"};
  struct stat info;
  bool is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
  const char *base = basename(path), *dot = is_folder ? NULL : strrchr(base, '.');
  size_t length = dot != NULL && dot != base ? (size_t)(dot - base) : strlen(base);
  for (size_t i = 0; i < sizeof long_endings / sizeof long_endings[0]; i++)
    if (text_ends_with(base, long_endings[i]) && strlen(base) > strlen(long_endings[i]))
      length = strlen(base) - strlen(long_endings[i]);
  return arena_copy(arena, base, length);
}

// ---- table workload --------------------------------------------------------------------------------------------------

static void put_text(struct profile_options *profile, const char *key, const char *text)
{
  if (text != NULL)
    profile->workload[profile->workload_count++] = (struct store_system_value){.key = key, .text = text};
}

static void put_bytes(struct profile_options *profile, const struct model_files *files)
{
  profile->workload[profile->workload_count++] =
      (struct store_system_value){.key = "graph_bytes", .number = (double)files->bytes, .is_number = true};
}

// ---- a model's own file or folder, or the function that makes it -----------------------------------------------------

static enum status plain_model(const struct invocation *invocation, const char *model, struct profile_options *profile,
                               struct arena *arena, struct error *err)
{
  struct runner_options *runner = &profile->runner;
  size_t length = strlen(model);
  while (length > 1 && model[length - 1] == '/') // a folder's name is its last part
    length--;
  runner->model_path = arena_copy(arena, model, length);
  bool is_file = !predictor_names_function(runner->model_path);
  XSP_TRY(profile_check_frameworks(invocation_value(invocation, "framework"), arena, err)); // wrong use comes first
  if (is_file && access(runner->model_path, R_OK) != 0)
    return error_set_errno(err, STATUS_INPUT, "cannot read the model", runner->model_path, "another path");
  XSP_TRY(
      profile_variants(invocation, invocation_value(invocation, "framework"), runner->model_path, arena, profile, err));
  runner->inputs = repeated(invocation, "input", arena);
  runner->dims = repeated(invocation, "dim", arena);
  profile->name = model_name(runner->model_path, arena);
  put_text(profile, "model_name", profile->name);
  put_text(profile, "source", arena_format(arena, "%s %s", is_file ? "path" : "function", runner->model_path));
  if (!is_file)
    return STATUS_OK;
  struct model_files files;
  XSP_TRY(model_files_find(runner->model_path, NULL, arena, &files, err));
  put_bytes(profile, &files);
  return STATUS_OK;
}

// ---- a manifest ------------------------------------------------------------------------------------------------------

// A manifest is of one framework: its inputs, names and checksum are those of one file.
static enum status check_framework(const struct invocation *invocation, const struct manifest *manifest,
                                   struct error *err)
{
  const char *given = invocation_value(invocation, "framework");
  if (given == NULL || strcmp(given, manifest->framework) == 0)
    return STATUS_OK;
  return manifest_wrong(manifest, manifest->framework_line, STATUS_USE,
                        "the same without --framework, or the model's own file in its place", err,
                        "the manifest is for %s, --framework says %s", manifest->framework, given);
}

static enum status check_versions(const struct manifest *manifest, const struct profile_options *profile,
                                  struct error *err)
{
  const struct predictor *predictor = predictor_find(manifest->framework);
  for (size_t i = 0; manifest->framework_version != NULL && i < profile->variant_count; i++) {
    struct probe_result result;
    XSP_TRY(manifest_check_library(manifest, predictor, profile->variants[i].library, &result, err));
  }
  return STATUS_OK;
}

static void describe(struct profile_options *profile, const struct manifest *manifest,
                     const struct manifest_model *model, struct arena *arena)
{
  put_text(profile, "model_name", manifest->name);
  put_text(profile, "model_version", manifest->version);
  put_text(profile, "task", manifest->task);
  put_bytes(profile, &model->files);
  put_text(profile, "sha256", arena_format(arena, "%s", model->sha256));
  put_text(profile, "source", model->source);
  put_text(profile, "manifest", manifest->path);
  put_text(profile, "reference", manifest->reference);
  put_text(profile, "license", manifest->license);
  struct utsname machine;
  if (uname(&machine) == 0) {
    put_text(profile, "container_cpu", manifest_image(manifest, machine.machine, "cpu"));
    put_text(profile, "container_gpu", manifest_image(manifest, machine.machine, "gpu"));
  }
  for (size_t i = 0; i < manifest->reported_count; i++)
    profile->workload[profile->workload_count++] =
        (struct store_system_value){.key = arena_format(arena, "reported.%s", manifest->reported[i].key),
                                    .number = manifest->reported[i].value,
                                    .is_number = true};
  put_text(profile, "reported.source", manifest->reported_source);
  put_text(profile, "reported.data_set", manifest->reported_data_set);
  for (size_t i = 0; i < manifest->attribute_count; i++)
    put_text(profile, arena_format(arena, "attribute.%s", manifest->attributes[i].key), manifest->attributes[i].value);
}

static enum status from_manifest(const struct invocation *invocation, const char *path, struct profile_options *profile,
                                 struct arena *arena, const struct manifest **ret_manifest, struct error *err)
{
  struct manifest *manifest = arena_alloc(arena, sizeof *manifest);
  *ret_manifest = manifest;
  struct manifest_model model;
  const struct predictor *predictor = NULL;
  XSP_TRY(manifest_load(path, arena, manifest, err));
  XSP_TRY(manifest_predictor(manifest, &predictor, err));
  XSP_TRY(check_framework(invocation, manifest, err));
  XSP_TRY(profile_variants(invocation, manifest->framework, "", arena, profile, err));
  XSP_TRY(check_versions(manifest, profile, err)); // before a model is made for it
  struct agent_record machine = {0};
  if (manifest->hardware != NULL)
    XSP_TRY(machine_hardware(arena, &machine, err));
  XSP_TRY(constraints_check_manifest(manifest, &machine, arena, err));
  XSP_TRY(
      manifest_find_model(manifest, invocation_has(invocation, "quiet") ? NULL : output_message, arena, &model, err));
  if (manifest->output_count > 0 && !predictor->tells_outputs && !invocation_has(invocation, "quiet"))
    output_message("xsp: the outputs in %s are not checked: %s does not report them", manifest->path, predictor->name);
  struct runner_options *runner = &profile->runner;
  runner->model_path = model.path;
  runner->weights_path = model.weights;
  runner->expectations = manifest_expectations(manifest, arena);
  runner->inputs = manifest_inputs(manifest, repeated(invocation, "input", arena), arena);
  runner->dims = manifest_dims(manifest, repeated(invocation, "dim", arena), arena);
  profile->name = manifest->name;
  for (size_t i = 0; !invocation_has(invocation, "batch") && i < manifest->batch_count; i++)
    profile->batches[profile->batch_count++] = manifest->batches[i];
  describe(profile, manifest, &model, arena);
  return STATUS_OK;
}

enum status profile_model(const struct invocation *invocation, const char *model, struct arena *arena,
                          struct profile_options *profile, const struct manifest **ret_manifest, struct error *err)
{
  *ret_manifest = NULL;
  return manifest_recognises(model) ? from_manifest(invocation, model, profile, arena, ret_manifest, err)
                                    : plain_model(invocation, model, profile, arena, err);
}
