// SPDX-License-Identifier: Apache-2.0
// Reads --framework and --library of `xsp profile` into variants. Called by profile_model.c.
#include "frameworks/frameworks.h"
#include "programs/xsp/profile_model.h"

#include <string.h>
#include <sys/stat.h>

struct choice {
  const struct invocation *invocation;
  struct profile_variant *variants;
  size_t count;
};

static bool is_library_of(const char *text, const char *framework)
{
  size_t length = strlen(framework);
  return strncmp(text, framework, length) == 0 && text[length] == '=';
}

static enum status add_variant(struct choice *choice, const char *framework, const char *library, struct error *err)
{
  if (choice->count == PROFILE_VARIANTS_MAXIMUM)
    return error_set(err, STATUS_USE, "too many variants", "--framework, --library", NULL, "at most %d",
                     PROFILE_VARIANTS_MAXIMUM);
  choice->variants[choice->count++] = (struct profile_variant){framework, library};
  return STATUS_OK;
}

static enum status add_framework(struct choice *choice, const struct predictor *predictor, struct error *err)
{
  const char *text;
  size_t before = choice->count;
  for (size_t i = 0; i < before; i++)
    if (strcmp(choice->variants[i].predictor, predictor->name) == 0)
      return error_set(err, STATUS_USE, "a framework is given twice", "--framework",
                       "--library NAME=PATH twice, for two versions of it", "'%s'", predictor->name);
  for (size_t i = 0; (text = invocation_value_at(choice->invocation, "library", i)) != NULL; i++)
    if (is_library_of(text, predictor->name))
      XSP_TRY(add_variant(choice, predictor->name, text + strlen(predictor->name) + 1, err));
  return choice->count > before ? STATUS_OK : add_variant(choice, predictor->name, NULL, err);
}

static enum status check_libraries(const struct choice *choice, struct error *err)
{
  const char *text;
  for (size_t i = 0; (text = invocation_value_at(choice->invocation, "library", i)) != NULL; i++) {
    const char *equals = strchr(text, '=');
    bool is_used = false;
    if (equals == NULL || equals == text || equals[1] == 0)
      return error_set(err, STATUS_USE, "not NAME=PATH", "--library", "--library onnxruntime=/path/libonnxruntime.so",
                       "'%s'", text);
    for (size_t k = 0; k < choice->count; k++)
      is_used = is_used || is_library_of(text, choice->variants[k].predictor);
    if (!is_used)
      return error_set(err, STATUS_USE, "a library of another framework", "--library",
                       "--framework NAME,NAME names those to run in", "the model runs in %s%s, not in '%.*s'",
                       choice->variants[0].predictor, choice->count > 1 ? " and others" : "", (int)(equals - text),
                       text);
  }
  return STATUS_OK;
}

static enum status unknown_kind(const char *model_path, struct error *err)
{
  struct stat facts;
  if (stat(model_path, &facts) == 0 && S_ISDIR(facts.st_mode))
    return error_set(err, STATUS_USE, "unknown kind of model", model_path, "a SavedModel's folder, or the model's file",
                     "a folder without saved_model.pb");
  return error_set(err, STATUS_USE, "unknown kind of model", model_path, "--framework NAME; xsp check names them",
                   "no framework is known for files of this name");
}

enum status variants_choose(const struct invocation *invocation, const char *frameworks, const char *model_path,
                            struct arena *arena, struct profile_variant *variants, size_t *ret_count, struct error *err)
{
  struct choice choice = {.invocation = invocation, .variants = variants};
  if (frameworks == NULL) {
    const struct predictor *predictor = predictor_for_file(model_path);
    if (predictor == NULL)
      return unknown_kind(model_path, err);
    XSP_TRY(add_framework(&choice, predictor, err));
  }
  for (const char *at = frameworks; at != NULL;) {
    size_t length = strcspn(at, ",");
    const char *name = arena_copy(arena, at, length);
    const struct predictor *predictor = predictor_find(name);
    if (predictor == NULL)
      return error_set(err, STATUS_USE, "no such framework", "--framework", "xsp check, which names all",
                       "no predictor is called '%s'", name);
    XSP_TRY(add_framework(&choice, predictor, err));
    at = at[length] == ',' ? at + length + 1 : NULL;
  }
  *ret_count = choice.count;
  return check_libraries(&choice, err);
}
