// SPDX-License-Identifier: Apache-2.0
// From a manifest to the model's files; see source.h. Generators are in generator.c.
#include "manifests/source.h"

#include "assets/assets.h"
#include "base/clock.h"
#include "base/debug.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

#define SAY_EVERY_NS UINT64_C(5000000000)

const char *manifest_relative(const struct manifest *manifest, const char *path, struct arena *arena)
{
  const char *base = basename(manifest->path);
  if (path[0] == '/' || base == manifest->path)
    return arena_copy(arena, path, strlen(path));
  return arena_format(arena, "%.*s%s", (int)(base - manifest->path), manifest->path, path);
}

struct fetching {
  message_fn message;
  uint64_t said_ns; // when it was last told how far it is
};

static void tell(void *context, const char *url, uint64_t done_bytes, uint64_t total_bytes)
{
  struct fetching *fetching = context;
  uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
  if (now_ns - fetching->said_ns < SAY_EVERY_NS)
    return;
  fetching->said_ns = now_ns;
  if (total_bytes > 0)
    fetching->message("xsp: fetching %s: %.0f of %.0f MB", url, (double)done_bytes / 1e6, (double)total_bytes / 1e6);
  else
    fetching->message("xsp: fetching %s: %.0f MB", url, (double)done_bytes / 1e6);
}

enum status manifest_asset(const struct manifest *manifest, const char *text, const char *sha256, message_fn message,
                           struct arena *arena, const char **ret_path, struct error *err)
{
  if (!asset_is_url(text) && sha256 == NULL) {
    *ret_path = manifest_relative(manifest, text, arena);
    return STATUS_OK;
  }
  struct fetching fetching = {message, clock_now_ns(CLOCK_MONOTONIC)};
  const struct asset_request request = {.url = text,
                                        .sha256 = sha256,
                                        .base_folder = manifest_relative(manifest, ".", arena),
                                        .progress = message != NULL ? tell : NULL,
                                        .context = &fetching,
                                        .message = message};
  return asset_get(&request, arena, ret_path, err);
}

// `sha256` of a single file; NULL: unknown, or compared later.
static enum status find_path(const struct manifest *manifest, const char *sha256, message_fn message,
                             struct arena *arena, struct manifest_model *model, struct error *err)
{
  const char *found = NULL;
  XSP_TRY(manifest_asset(manifest, manifest->model_path, sha256, message, arena, &found, err));
  char *path = arena_format(arena, "%s", found);
  for (size_t length = strlen(path); length > 1 && path[length - 1] == '/';)
    path[--length] = 0; // a folder's name is its last part
  model->path = path;
  model->source = arena_format(arena, "path %s", manifest->model_path);
  const struct predictor *predictor = predictor_find(manifest->framework);
  const char *ignored = NULL;
  if (predictor != NULL && predictor->executes_model)
    return manifest_script(manifest, manifest->model_path, arena, &ignored, err);
  return STATUS_OK;
}

static enum status find_graph(const struct manifest *manifest, message_fn message, struct arena *arena,
                              struct manifest_model *model, struct error *err)
{
  const struct predictor *predictor = predictor_find(manifest->framework);
  XSP_TRY(find_path(manifest, manifest->graph_sha256, message, arena, model, err));
  model->source = arena_format(arena, "graph %s", manifest->model_path);
  if (manifest->weights_path == NULL)
    return STATUS_OK;
  model->source = arena_format(arena, "%s, weights %s", model->source, manifest->weights_path);
  XSP_TRY(
      manifest_asset(manifest, manifest->weights_path, manifest->weights_sha256, message, arena, &model->weights, err));
  if (predictor == NULL || !predictor->takes_weights)
    return manifest_wrong(manifest, manifest->source_line, STATUS_INPUT, "graph_path alone", err,
                          "models of %s are not a graph and weights", manifest->framework);
  if (strcmp(basename(model->path), basename(model->weights)) == 0)
    return manifest_wrong(manifest, manifest->source_line, STATUS_INPUT, "another name for one of them", err,
                          "the graph and the weights are both called %s", basename(model->path));
  if (access(model->weights, R_OK) != 0)
    return manifest_wrong(manifest, manifest->source_line, STATUS_INPUT, "a path from the manifest's folder", err,
                          "cannot read the weights %s: %m", model->weights);
  return STATUS_OK;
}

static enum status find_in_package(const struct manifest *manifest, struct arena *arena, struct manifest_model *model,
                                   struct error *err)
{
  struct python_package package;
  XSP_TRY(package_find(manifest, manifest->source_line, manifest->package, arena, &package, err));
  const char *name = arena_copy(arena, manifest->package, strcspn(manifest->package, "<>=!~ "));
  model->path = arena_format(arena, "%s/%s", package.folder, manifest->file);
  model->source = arena_format(arena, "package %s %s: %s", name, package.version, manifest->file);
  if (access(model->path, R_OK) != 0)
    return manifest_wrong(manifest, manifest->source_line, STATUS_INPUT,
                          "another file, or another version of the package", err, "%s %s in %s has no file %s", name,
                          package.version, package.folder, manifest->file);
  return STATUS_OK;
}

static enum status find_generated(const struct manifest *manifest, message_fn message, struct arena *arena,
                                  struct manifest_model *model, struct error *err)
{
  XSP_TRY(generator_make(manifest, message, arena, &model->path, &model->was_made, err));
  model->source = arena_format(arena, "generator %s", manifest->generator);
  for (size_t i = 0; i < manifest->arguments.count; i++)
    model->source = arena_format(arena, "%s %s", model->source, manifest->arguments.items[i]);
  return STATUS_OK;
}

static enum status compare_checksum(const struct manifest *manifest, struct manifest_model *model, struct error *err)
{
  XSP_TRY(model_files_checksum(&model->files, model->sha256, err));
  if (manifest->sha256 == NULL || strcasecmp(manifest->sha256, model->sha256) == 0)
    return STATUS_OK;
  return manifest_wrong(manifest, manifest->sha256_line, STATUS_INPUT,
                        manifest->source == MANIFEST_GENERATOR
                            ? "remove the file's folder to make it again, or correct sha256"
                            : "the right file, or correct sha256",
                        err, "sha256 is %s, that of %s (%zu %s) is %s", manifest->sha256, model->path,
                        model->files.count, model->files.count == 1 ? "file" : "files", model->sha256);
}

enum status manifest_find_model(const struct manifest *manifest, message_fn message, struct arena *arena,
                                struct manifest_model *ret_model, struct error *err)
{
  *ret_model = (struct manifest_model){0};
  switch (manifest->source) {
  case MANIFEST_PATH:
    XSP_TRY(find_path(manifest, asset_is_url(manifest->model_path) ? manifest->sha256 : NULL, message, arena, ret_model,
                      err));
    break;
  case MANIFEST_GRAPH:
    XSP_TRY(find_graph(manifest, message, arena, ret_model, err));
    break;
  case MANIFEST_PACKAGE:
    XSP_TRY(find_in_package(manifest, arena, ret_model, err));
    break;
  case MANIFEST_GENERATOR:
    XSP_TRY(find_generated(manifest, message, arena, ret_model, err));
    break;
  }
  DEBUG(manifests, "%s: model %s from %s%s", manifest->path, ret_model->path, ret_model->source,
        ret_model->was_made ? ", made now" : "");
  if (access(ret_model->path, R_OK) != 0)
    return manifest_wrong(manifest, manifest->source_line, STATUS_INPUT, "a path from the manifest's folder", err,
                          "cannot read the model %s: %m", ret_model->path);
  XSP_TRY(model_files_find(ret_model->path, ret_model->weights, arena, &ret_model->files, err));
  return compare_checksum(manifest, ret_model, err);
}
