// SPDX-License-Identifier: Apache-2.0
// Parses constraints and compares agents with them. Called by dispatch.c and models.c.
#include "agent/constraint.h"

#include "manifests/version.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXAMPLE "--on 'framework=onnxruntime>=1.20,arch=x86_64,memory>=8GiB,gpus>=1'"
#define COMPARISONS "<>=!~"

static const struct {
  const char *key;
  enum constraint_kind kind;
  size_t offset;
  bool is_bytes;
} keys[] = {
    {"framework", CONSTRAINT_FRAMEWORK, 0, false},
    {"name", CONSTRAINT_TEXT, offsetof(struct agent_record, name), false},
    {"arch", CONSTRAINT_TEXT, offsetof(struct agent_record, architecture), false},
    {"cpu", CONSTRAINT_PART, offsetof(struct agent_record, cpu_model), false},
    {"gpu", CONSTRAINT_PART, offsetof(struct agent_record, gpu_model), false},
    {"interconnect", CONSTRAINT_PART, offsetof(struct agent_record, interconnect), false},
    {"cpus", CONSTRAINT_NUMBER, offsetof(struct agent_record, cpus), false},
    {"gpus", CONSTRAINT_NUMBER, offsetof(struct agent_record, gpus), false},
    {"memory", CONSTRAINT_NUMBER, offsetof(struct agent_record, memory_bytes), true},
    {"gpu_memory", CONSTRAINT_NUMBER, offsetof(struct agent_record, gpu_memory_bytes), true},
};

// ---- parsing ---------------------------------------------------------------------------------------------------------
static enum status wrong(const char *text, const char *why, struct error *err)
{
  return error_set(err, STATUS_USE, "wrong use", "--on", EXAMPLE, "\"%s\" %s", text, why);
}

// "8GiB", "7.5G", "16": K, M, G and T and KiB … are binary, KB … decimal.
static bool read_number(const char *text, bool is_bytes, int64_t *ret_number)
{
  static const char letters[] = "KMGT";
  size_t length = strspn(text, "0123456789."); // strtod takes more than that
  char digits[32] = "", *rest;
  if (length >= sizeof digits)
    return false;
  memcpy(digits, text, length);
  const char *end = text + length;
  double number = strtod(digits, &rest), factor = 1;
  const char *letter = *end != 0 && is_bytes ? strchr(letters, *end) : NULL;
  if (letter != NULL) {
    bool is_decimal = strcmp(end + 1, "B") == 0;
    factor = pow(is_decimal ? 1000 : 1024, (double)(letter - letters + 1));
    end += is_decimal ? 2 : 1;
    end += strcmp(end, "iB") == 0 ? 2 : 0;
  }
  number *= factor;
  if (rest == digits || *rest != 0 || *end != 0 || !(number < 9e18))
    return false;
  *ret_number = (int64_t)number;
  return true;
}

static enum status read_framework(char *value, struct constraint *constraint, struct error *err)
{
  size_t length = strcspn(value, COMPARISONS);
  constraint->value = value;
  if (length == 0 || constraint->comparison != '=')
    return wrong(constraint->text, "is not framework=NAME", err);
  if (value[length] == 0)
    return STATUS_OK;
  size_t text_length = strlen(constraint->text), rest = strlen(value + length);
  constraint->versions = constraint->text + text_length - rest; // the same text, which stays whole
  value[length] = 0;
  return version_constraint_is_valid(constraint->versions)
             ? STATUS_OK
             : wrong(constraint->text, "has no version constraint such as >=1.20 after the name", err);
}

static enum status read_one(const char *text, struct arena *arena, struct constraint *ret_constraint, struct error *err)
{
  size_t length = strcspn(text, COMPARISONS), at = 0;
  const char *comparison = text + length;
  *ret_constraint = (struct constraint){.text = text};
  while (at < sizeof keys / sizeof keys[0] &&
         !(strlen(keys[at].key) == length && strncmp(keys[at].key, text, length) == 0))
    at++;
  if (at == sizeof keys / sizeof keys[0])
    return wrong(
        text,
        "does not begin with one of framework, name, arch, cpu, gpu, interconnect, cpus, gpus, memory, gpu_memory",
        err);
  if (*comparison == 0 || *comparison == '~')
    return wrong(text, "has no comparison", err);
  size_t sign = comparison[1] == '=' ? 2 : 1;
  bool has_value = comparison[sign] != 0 && (comparison[0] != '!' || sign == 2);
  ret_constraint->kind = keys[at].kind;
  ret_constraint->offset = keys[at].offset;
  ret_constraint->comparison = comparison[0];
  ret_constraint->or_equal = sign == 2;
  ret_constraint->value = arena_copy(arena, comparison + sign, strlen(comparison + sign));
  if (!has_value)
    return wrong(text, "has no value", err);
  if (keys[at].kind == CONSTRAINT_FRAMEWORK)
    return read_framework((char *)ret_constraint->value, ret_constraint, err);
  if (keys[at].kind == CONSTRAINT_NUMBER)
    return read_number(ret_constraint->value, keys[at].is_bytes, &ret_constraint->number)
               ? STATUS_OK
               : wrong(text, keys[at].is_bytes ? "has no size such as 8GiB" : "has no number", err);
  return comparison[0] == '=' || comparison[0] == '!' ? STATUS_OK : wrong(text, "compares a text: = or !=", err);
}

// A part that begins with a comparison goes on with the version constraint before it: ">=1.20,<2".
enum status constraints_parse(const char *text, struct arena *arena, struct constraints *ret_constraints,
                              struct error *err)
{
  *ret_constraints = (struct constraints){0};
  const char *at = text != NULL ? text : "";
  while (*at != 0) {
    size_t length = strcspn(at, ",");
    while (at[length] == ',' && at[length + 1] != 0 && strchr(COMPARISONS, at[length + 1]) != NULL)
      length += 1 + strcspn(at + length + 1, ",");
    struct slice part = slice_trim((struct slice){at, length});
    if (ret_constraints->count == CONSTRAINTS_MOST)
      return wrong("--on", "has too many constraints", err);
    XSP_TRY(read_one(arena_copy(arena, part.data, part.length), arena,
                     &ret_constraints->items[ret_constraints->count++], err));
    at += length + (at[length] == ',');
  }
  return STATUS_OK;
}

// ---- comparing -------------------------------------------------------------------------------------------------------
static bool has_framework(const struct constraint *constraint, const struct agent_record *record, struct arena *arena,
                          const char **ret_why)
{
  *ret_why = arena_format(arena, "it has no %s", constraint->value);
  for (size_t i = 0; i < record->framework_count; i++) {
    const struct agent_framework *framework = &record->frameworks[i];
    if (strcmp(framework->name, constraint->value) != 0)
      continue;
    if (constraint->versions == NULL ||
        (framework->version != NULL && version_satisfies(framework->version, constraint->versions)))
      return true;
    *ret_why = arena_format(arena, "it has %s %s", framework->name,
                            framework->version != NULL ? framework->version : "of unknown version");
  }
  return false;
}

static bool has_text(const struct constraint *constraint, const struct agent_record *record, struct arena *arena,
                     const char **ret_why)
{
  const char *found = record_text(record, constraint->offset);
  *ret_why = found != NULL ? arena_format(arena, "it has \"%s\"", found) : "it does not know its own";
  if (found == NULL)
    return false;
  bool is_equal = constraint->kind == CONSTRAINT_PART ? strcasestr(found, constraint->value) != NULL
                                                      : strcmp(found, constraint->value) == 0;
  return is_equal == (constraint->comparison == '=');
}

static bool has_number(const struct constraint *constraint, const struct agent_record *record, struct arena *arena,
                       const char **ret_why)
{
  int64_t found = record_number(record, constraint->offset), wanted = constraint->number;
  bool is_large = found >= (int64_t)1 << 20;
  *ret_why = found == 0 ? "it has none, or does not know"
             : is_large ? arena_format(arena, "it has %.4g GiB", (double)found / (1 << 30))
                        : arena_format(arena, "it has %" PRId64, found);
  if (found == 0)
    return false;
  switch (constraint->comparison) {
  case '<':
    return found < wanted || (found == wanted && constraint->or_equal);
  case '>':
    return found > wanted || (found == wanted && constraint->or_equal);
  default:
    return (found == wanted) == (constraint->comparison == '=');
  }
}

const struct constraint *constraints_missed(const struct constraints *constraints, const struct agent_record *record,
                                            struct arena *arena, const char **ret_why)
{
  static bool (*const checks[])(const struct constraint *, const struct agent_record *, struct arena *,
                                const char **) = {[CONSTRAINT_FRAMEWORK] = has_framework,
                                                  [CONSTRAINT_TEXT] = has_text,
                                                  [CONSTRAINT_PART] = has_text,
                                                  [CONSTRAINT_NUMBER] = has_number};
  for (size_t i = 0; i < constraints->count; i++)
    if (!checks[constraints->items[i].kind](&constraints->items[i], record, arena, ret_why))
      return &constraints->items[i];
  return NULL;
}

// ---- models ----------------------------------------------------------------------------------------------------------
static bool requirement_takes(const char *requirement, const char *name, const char *version)
{
  size_t length = strcspn(requirement, COMPARISONS);
  struct slice wanted = slice_trim((struct slice){requirement, length});
  return slice_is(wanted, name) && (requirement[length] == 0 || (version_constraint_is_valid(requirement + length) &&
                                                                 version_satisfies(version, requirement + length)));
}

static bool requirement_is_newer(const char *version, const char *than)
{
  char constraint[128];
  snprintf(constraint, sizeof constraint, ">%.100s", than);
  return version_constraint_is_valid(constraint) && version_satisfies(version, constraint);
}

static bool takes_framework(const struct constraints *constraints, const char *framework)
{
  bool is_named = false, is_any = true;
  for (size_t i = 0; i < constraints->count; i++)
    if (constraints->items[i].kind == CONSTRAINT_FRAMEWORK) {
      is_any = false;
      is_named |= strcmp(constraints->items[i].value, framework) == 0;
    }
  return is_any || is_named;
}

const struct agent_model *constraints_model(const struct constraints *constraints, const struct agent_record *record,
                                            const char *requirement)
{
  const struct agent_model *best = NULL;
  for (size_t i = 0; i < record->model_count; i++) {
    const struct agent_model *model = &record->models[i];
    if (requirement_takes(requirement, model->name, model->version) && takes_framework(constraints, model->framework) &&
        (best == NULL || requirement_is_newer(model->version, best->version)))
      best = model;
  }
  return best;
}

enum status constraints_check_manifest(const struct manifest *manifest, const struct agent_record *record,
                                       struct arena *arena, struct error *err)
{
  struct constraints needed;
  const char *found = NULL;
  if (manifest->hardware == NULL)
    return STATUS_OK;
  if (constraints_parse(manifest->hardware, arena, &needed, err) != STATUS_OK)
    return manifest_wrong(manifest, manifest->hardware_line, STATUS_INPUT, "\"arch=x86_64,memory>=8GiB,gpus>=1\"", err,
                          "hardware: %s", arena_format(arena, "%s", err->why));
  const struct constraint *missed = constraints_missed(&needed, record, arena, &found);
  if (missed == NULL)
    return STATUS_OK;
  return manifest_wrong(manifest, manifest->hardware_line, STATUS_SYSTEM, "another machine", err,
                        "this machine misses %s, which the model needs: %s", missed->text, found);
}
