// SPDX-License-Identifier: Apache-2.0
// Names for the experiments of a file that holds several of one model, as `xsp profile --framework A,B` writes it. Called
// by question.c.
#include "analyze/experiment_names.h"

#include <inttypes.h>
#include <string.h>

static bool is_unique(const char *const *names, size_t count, size_t which)
{
  for (size_t i = 0; i < count; i++)
    if (i != which && strcmp(names[i], names[which]) == 0)
      return false;
  return true;
}

static const char *plain_name(const struct store_experiment *experiment, struct arena *arena)
{
  if (experiment->name != NULL && experiment->name[0] != 0)
    return experiment->name;
  return arena_format(arena, "experiment %" PRId64, experiment->experiment_id);
}

static const char *name_in_framework(const struct store_experiment *experiment, const char *name, struct arena *arena)
{
  if (experiment->framework == NULL)
    return name;
  const char *version = experiment->framework_version;
  return arena_format(arena, "%s in %s%s%s", name, experiment->framework, version != NULL ? " " : "",
                      version != NULL ? version : "");
}

const char **experiment_names(const struct store_experiment *experiments, size_t count, struct arena *arena)
{
  const char **plain = arena_alloc_array(arena, count + 1, sizeof *plain);
  const char **framed = arena_alloc_array(arena, count + 1, sizeof *framed);
  const char **names = arena_alloc_array(arena, count + 1, sizeof *names);
  for (size_t i = 0; i < count; i++)
    plain[i] = plain_name(&experiments[i], arena);
  for (size_t i = 0; i < count; i++)
    framed[i] = is_unique(plain, count, i) ? plain[i] : name_in_framework(&experiments[i], plain[i], arena);
  for (size_t i = 0; i < count; i++)
    names[i] = is_unique(framed, count, i) || framed[i] == plain[i]
                   ? framed[i]
                   : arena_format(arena, "%s, experiment %" PRId64, framed[i], experiments[i].experiment_id);
  return names;
}
