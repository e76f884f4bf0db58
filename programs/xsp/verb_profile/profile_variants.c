// SPDX-License-Identifier: Apache-2.0
// Reads --framework and --library of `xsp profile` into variants. Called by profile_model.c.
#include "base/nearest.h"
#include "base/slice.h"
#include "programs/xsp/verb_profile/profile.h"

#include <string.h>
#include <sys/stat.h>

static enum status add_variant(struct profile_options *profile, const char *framework, const char *library,
                               struct error *err)
{
  if (profile->variant_count == PROFILE_VARIANTS_MAXIMUM)
    return error_set(err, STATUS_USE, "too many variants", "--framework, --library", NULL, "at most %d",
                     PROFILE_VARIANTS_MAXIMUM);
  profile->variants[profile->variant_count++] = (struct profile_variant){framework, library};
  return STATUS_OK;
}

static enum status add_framework(const struct invocation *invocation, struct profile_options *profile,
                                 const struct predictor *predictor, struct error *err)
{
  const char *text;
  size_t before = profile->variant_count;
  for (size_t i = 0; i < before; i++)
    if (strcmp(profile->variants[i].predictor, predictor->name) == 0)
      return error_set(err, STATUS_USE, "a framework is given twice", "--framework",
                       "--library NAME=PATH twice, for two versions of it", "'%s'", predictor->name);
  for (size_t i = 0; (text = invocation_value_at(invocation, "library", i)) != NULL; i++)
    if (option_value_of(text, predictor->name) != NULL)
      XSP_TRY(add_variant(profile, predictor->name, option_value_of(text, predictor->name), err));
  return profile->variant_count > before ? STATUS_OK : add_variant(profile, predictor->name, NULL, err);
}

enum status profile_check_libraries(const struct invocation *invocation, const struct profile_variant *variants,
                                    size_t count, struct error *err)
{
  const char *text;
  for (size_t i = 0; (text = invocation_value_at(invocation, "library", i)) != NULL; i++) {
    const char *equals = strchr(text, '=');
    bool is_used = false;
    if (equals == NULL || equals == text || equals[1] == 0)
      return error_set(err, STATUS_USE, "not NAME=PATH", "--library", "--library onnxruntime=/path/libonnxruntime.so",
                       "'%s'", text);
    for (size_t k = 0; k < count; k++)
      is_used = is_used || option_value_of(text, variants[k].predictor) != NULL;
    if (!is_used)
      return error_set(err, STATUS_USE, "a library of another framework", "--library",
                       "--framework NAME,NAME names those to run in", "the model runs in %s%s, not in '%.*s'",
                       variants[0].predictor, count > 1 ? " and others" : "", (int)(equals - text), text);
  }
  return STATUS_OK;
}

static enum status unknown_kind(const char *model_path, struct error *err)
{
  struct stat facts;
  if (stat(model_path, &facts) == 0 && S_ISDIR(facts.st_mode))
    return error_set(err, STATUS_USE, "unknown kind of model", model_path, "a SavedModel's folder, or the model's file",
                     "a folder without saved_model.pb");
  if (text_ends_with(model_path, ".xsp"))
    return error_set(err, STATUS_USE, "unknown kind of model", model_path,
                     "xsp analyze or xsp report, which read traces", "it is a trace, not a model");
  return error_set(err, STATUS_USE, "unknown kind of model", model_path, "--framework NAME; xsp check names them",
                   "no framework is known for files of this name");
}

static enum status unknown_framework(const char *name, struct error *err)
{
  char advice[96];
  struct nearest nearest;
  nearest_start(&nearest, name);
  for (size_t i = 0; predictors[i] != NULL; i++)
    nearest_offer(&nearest, predictors[i]->name);
  nearest_advice(&nearest, "--framework ", "`xsp check`, which names all", advice, sizeof advice);
  return error_set(err, STATUS_USE, "no such framework", "--framework", advice, "no predictor is called '%s'", name);
}

enum status profile_check_frameworks(const char *frameworks, struct arena *arena, struct error *err)
{
  struct slice rest = slice_of(frameworks), part;
  while (slice_cut(&rest, ',', &part)) {
    const char *name = arena_copy(arena, part.data, part.length);
    if (predictor_find(name) == NULL)
      return unknown_framework(name, err);
  }
  return STATUS_OK;
}

enum status profile_variants(const struct invocation *invocation, const char *frameworks, const char *model_path,
                             struct arena *arena, struct profile_options *profile, struct error *err)
{
  if (frameworks == NULL) {
    const struct predictor *predictor = predictor_for_file(model_path);
    if (predictor == NULL)
      return unknown_kind(model_path, err);
    XSP_TRY(add_framework(invocation, profile, predictor, err));
  }
  struct slice rest = slice_of(frameworks), part;
  while (slice_cut(&rest, ',', &part)) {
    const struct predictor *predictor = predictor_find(arena_copy(arena, part.data, part.length));
    XSP_TRY(add_framework(invocation, profile, predictor, err));
  }
  return invocation->argument_count > 1 // of several models, each has its framework
             ? STATUS_OK
             : profile_check_libraries(invocation, profile->variants, profile->variant_count, err);
}
