// SPDX-License-Identifier: Apache-2.0
// Makes the command of an evaluation; see command.h. Called by evaluation_routes.c and by the queue's threads.
#include "agent/command.h"

#include "agent/agent_private.h"
#include "base/vector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHY_BYTES 512

struct arguments {
  VECTOR(const char *) list;
};

// A data set: a name below the folder of data, links resolved. NULL: there is none of this name there.
static const char *find_data(const struct agent *agent, const char *name, struct arena *arena)
{
  if (agent->data == NULL)
    return NULL;
  size_t length = strlen(agent->data);
  char *found SCOPED(scoped_free) = realpath(arena_format(arena, "%s/%s", agent->data, name), NULL);
  const char *path = NULL;
  if (found != NULL && strncmp(found, agent->data, length) == 0 && found[length] == '/')
    path = arena_format(arena, "%s", found);
  return path;
}

static void put_option(const struct submission_option *option, const char *value, struct arena *arena,
                       struct arguments *arguments)
{
  struct slice rest = slice_of(value), part;
  if (option->kind == SUBMISSION_FLAG)
    *vector_add(&arguments->list) = arena_format(arena, "--%s", option->name);
  else if (!submission_is_list(option->kind))
    *vector_add(&arguments->list) = arena_format(arena, "--%s=%s", option->name, value);
  else
    while (slice_cut(&rest, ',', &part))
      *vector_add(&arguments->list) = arena_format(arena, "--%s=%.*s", option->name, (int)part.length, part.data);
}

static unsigned put_models(struct agent *agent, const char *user, const struct submission *submission,
                           struct arena *arena, struct arguments *arguments, char *why)
{
  const char *framework = submission->framework;
  for (size_t i = 0; i < submission->model_count; i++) {
    bool is_forbidden;
    const char *model = submission->models[i];
    const char *path = agent_models_find(agent->models, model, framework, user, arena, &is_forbidden);
    *vector_add(&arguments->list) = path;
    if (is_forbidden)
      snprintf(why, WHY_BYTES, "%s may not use %s: its manifest has permissions", user, model);
    else if (path == NULL)
      snprintf(why, WHY_BYTES, "there is no model %s%s%s; /models lists all", model, framework != NULL ? " for " : "",
               framework != NULL ? framework : "");
    if (path == NULL)
      return is_forbidden ? 403 : 404;
  }
  return 0;
}

static unsigned put_data(struct agent *agent, const struct submission *submission, struct arena *arena,
                         struct arguments *arguments, char *why)
{
  const char *data = find_data(agent, submission->data, arena);
  if (data == NULL) {
    snprintf(why, WHY_BYTES, "there is no data set %s", submission->data);
    return 404;
  }
  *vector_add(&arguments->list) = arena_format(arena, "--data=%s", data);
  return 0;
}

static unsigned put_all(struct agent *agent, const char *user, const struct submission *submission, struct arena *arena,
                        struct arguments *arguments, char *why)
{
  *vector_add(&arguments->list) = "xsp";
  *vector_add(&arguments->list) = submission->is_profile ? "profile" : "evaluate";
  if (submission->is_profile && agent->options.isolates) {
    snprintf(why, WHY_BYTES, "this agent isolates its models (--isolate), which xsp profile cannot");
    return 403;
  }
  unsigned status = put_models(agent, user, submission, arena, arguments, why);
  if (status == 0 && !submission->is_profile)
    status = put_data(agent, submission, arena, arguments, why);
  if (status != 0)
    return status;
  for (size_t i = 0; i < SUBMISSION_OPTIONS; i++)
    if (submission->values[i] != NULL)
      put_option(&submission_options[i], submission->values[i], arena, arguments);
  if (agent->options.isolates)
    *vector_add(&arguments->list) = "--isolate";
  *vector_add(&arguments->list) = "--json";
  *vector_add(&arguments->list) = "--output=" QUEUE_OUTPUT;
  *vector_add(&arguments->list) = NULL;
  return 0;
}

unsigned agent_command_make(struct agent *agent, const char *user, const struct submission *submission,
                            struct arena *arena, const char *const **ret_arguments, char why[WHY_BYTES])
{
  struct arguments arguments = {0};
  unsigned status = put_all(agent, user, submission, arena, &arguments, why);
  const char **list = arena_alloc_array(arena, arguments.list.count, sizeof *list);
  memcpy(list, arguments.list.items, arguments.list.count * sizeof *list);
  vector_done(&arguments.list);
  *ret_arguments = list;
  return status;
}

static bool has_user(const struct agent *agent, const char *name)
{
  const struct guard_user *user = agent->options.users;
  while (user != NULL && user->name != NULL && strcmp(user->name, name) != 0)
    user++;
  return user != NULL && user->name != NULL;
}

enum status agent_command_of_request(void *context, const char *user, const char *request, struct arena *arena,
                                     const char *const **ret_arguments, struct error *err)
{
  static const char what[] = "cannot measure";
  struct agent *agent = context;
  struct submission submission;
  char why[WHY_BYTES];
  if (user[0] != 0 && !has_user(agent, user)) // of an earlier agent
    return error_set(err, STATUS_INPUT, what, NULL, NULL, "%s is not in --users any more", user);
  const char *problem = submission_read(slice_of(request), arena, &submission);
  if (problem == NULL &&
      agent_command_make(agent, user[0] != 0 ? user : NULL, &submission, arena, ret_arguments, why) != 0)
    problem = why;
  return problem == NULL ? STATUS_OK : error_set(err, STATUS_INPUT, what, NULL, NULL, "%s", problem);
}
