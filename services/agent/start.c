// SPDX-License-Identifier: Apache-2.0
// Starts and stops an agent's parts, in the order in which they need each other. Called by the verb.
#include "agent/agent.h"

#include "agent/agent_private.h"
#include "agent/command.h"
#include "agent/machine.h"
#include "base/folder.h"
#include "base/memory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BODY_BYTES_MOST ((uint64_t)256 << 10) // of a request: a manifest has no more
#define CONNECTIONS_MOST 256u
#define REQUEST_WITHIN_S 30u

// ---- the record ------------------------------------------------------------------------------------------------------
void agent_describe(struct agent *agent, struct buf *out)
{
  struct json_writer json;
  struct arena arena SCOPED(arena_done) = {0};
  struct agent_record record = agent->record;
  record.busy = (int64_t)queue_busy(agent->queue);
  agent_models_list(agent->models, "", &arena, &record.models, &record.model_count);
  json_start(&json, out);
  agent_record_write(&record, &json);
}

static void describe(void *context, struct buf *out)
{
  agent_describe(context, out);
}

void agent_changed(void *agent)
{
  registration_changed(__atomic_load_n(&((struct agent *)agent)->registration, __ATOMIC_ACQUIRE));
}

static enum status name_agent(struct agent *agent, struct error *err)
{
  const struct agent_options *options = &agent->options;
  struct agent_record *record = &agent->record;
  char *host = agent->host;
  unsigned port = http_server_port(agent->http);
  if (gethostname(host, sizeof agent->host - 1) != 0 || !agent_name_is_valid(host))
    snprintf(host, sizeof agent->host, "agent");
  record->name = options->name != NULL ? options->name : arena_format(&agent->arena, "%.50s-%u", host, port);
  bool is_any = strstr(http_server_url(agent->http), "//0.0.0.0:") != NULL ||
                strstr(http_server_url(agent->http), "//[::]:") != NULL;
  record->url = options->address != NULL ? options->address
                : is_any
                    ? arena_format(&agent->arena, "http%s://%s:%u", options->certificate != NULL ? "s" : "", host, port)
                    : http_server_url(agent->http);
  if (!agent_name_is_valid(record->name))
    return error_set(err, STATUS_USE, "wrong use", "--name", "--name gpu-7",
                     "\"%s\" is not a name of letters, digits, \".\", \"_\" and \"-\"", record->name);
  if (!agent_url_is_valid(record->url))
    return error_set(err, STATUS_USE, "wrong use", "--address", "--address http[s]://HOST:PORT",
                     "\"%s\" is not an address", record->url);
  if (options->certificate != NULL && !text_begins_with(record->url, "https:"))
    return error_set(err, STATUS_USE, "wrong use", "--address", "--address https://HOST:PORT",
                     "clients would send their tokens without TLS");
  return STATUS_OK;
}

// ---- starting --------------------------------------------------------------------------------------------------------
// Where the queue outlives the agent. Without --state it follows the agent's name, and without --name the host's and the port that
// was asked for: an agent that is started in the same way again finds it.
static enum status find_state(struct agent *agent, struct error *err)
{
  const struct agent_options *options = &agent->options;
  char path[PATH_MAX], name[160];
  const char *port = strrchr(options->listen, ':');
  if (options->name != NULL)
    snprintf(name, sizeof name, "agent/%s", agent->record.name);
  else
    snprintf(name, sizeof name, "agent/%s-%s", agent->host, port != NULL ? port + 1 : "");
  if (options->state == NULL && !folder_state_path(name, path, sizeof path))
    return error_set(err, STATUS_SYSTEM, "cannot keep evaluations", NULL, "--state FOLDER", "HOME is not set");
  agent->state = arena_format(&agent->arena, "%s", options->state != NULL ? options->state : path);
  return STATUS_OK;
}

static enum status find_data(struct agent *agent, struct error *err)
{
  const char *given = agent->options.data;
  char *found = given != NULL ? realpath(given, NULL) : NULL;
  if (found != NULL)
    agent->data = arena_format(&agent->arena, "%s", found);
  free(found);
  return given == NULL || agent->data != NULL
             ? STATUS_OK
             : error_set_errno(err, STATUS_INPUT, "cannot find the data", given, "--data FOLDER");
}

static enum status find_models(struct agent *agent, struct error *err)
{
  const char *given = agent->options.models;
  char *found = given != NULL ? realpath(given, NULL) : NULL; // evaluations run in folders of their own
  const char *folder = found != NULL ? arena_format(&agent->arena, "%s", found) : given;
  free(found);
  return agent_models_open(folder, &agent->record, agent->options.message, &agent->models, err);
}

static enum status start(struct agent *agent, struct error *err)
{
  const struct agent_options *options = &agent->options;
  const struct http_server_options http = {.site = &agent_site,
                                           .context = agent,
                                           .listen = options->listen,
                                           .token = options->token,
                                           .users = options->users,
                                           .certificate = options->certificate,
                                           .key = options->key,
                                           .limit_body_bytes = BODY_BYTES_MOST,
                                           .limit_connections = CONNECTIONS_MOST,
                                           .timeout_s = REQUEST_WITHIN_S,
                                           .library = options->library};
  agent->record.jobs = options->jobs;
  XSP_TRY(http_server_open(&http, &agent->http, err));
  XSP_TRY(name_agent(agent, err));
  XSP_TRY(find_data(agent, err));
  XSP_TRY(machine_describe(&agent->arena, &agent->record, err));
  XSP_TRY(find_models(agent, err));
  XSP_TRY(find_state(agent, err));
  const struct queue_options queue = {.folder = agent->state,
                                      .workers = options->jobs,
                                      .waiting_most = options->waiting_most,
                                      .waiting_most_each = options->waiting_most_each,
                                      .limit_s = options->limit_s,
                                      .command = agent_command_of_request,
                                      .changed = agent_changed,
                                      .context = agent,
                                      .message = options->message};
  XSP_TRY(queue_start(&queue, &agent->queue, err));
  XSP_TRY(http_server_start(agent->http, err));
  const struct registration_options registration = {.registry = options->registry,
                                                    .name = agent->record.name,
                                                    .ttl_s = options->ttl_s,
                                                    .describe = describe,
                                                    .context = agent,
                                                    .message = options->message};
  struct registration *started = NULL;
  enum status status = registration_start(&registration, &started, err);
  __atomic_store_n(&agent->registration, started, __ATOMIC_RELEASE); // agent_changed reads it
  return status;
}

enum status agent_start(const struct agent_options *options, struct agent **ret_agent, struct error *err)
{
  struct agent *agent = *ret_agent = memory_new(1, sizeof *agent);
  agent->options = *options;
  return start(agent, err);
}

const char *agent_name(const struct agent *agent)
{
  return agent->record.name;
}

const char *agent_url(const struct agent *agent)
{
  return agent->record.url;
}

void agent_stop(struct agent *agent)
{
  if (agent == NULL)
    return;
  registration_end(agent->registration); // it reads what follows
  http_server_stop(agent->http);         // nobody asks the queue any more
  queue_stop(agent->queue);
  registration_free(agent->registration); // agent_changed uses it until here
  agent_models_close(agent->models);
  arena_done(&agent->arena);
  free(agent);
}
