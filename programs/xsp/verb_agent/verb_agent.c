// SPDX-License-Identifier: Apache-2.0
// xsp agent: evaluates models of this machine for others, until a signal comes; lists the agents of a registry.
#include "agent/agent.h"
#include "base/json_write.h"
#include "programs/xsp/output.h"
#include "programs/xsp/reader.h"
#include "programs/xsp/serving.h"
#include "programs/xsp/verb_agent/agents.h"

static enum status print_address(const struct agent *agent, enum report_format format, struct error *err)
{
  struct buf text = {0};
  struct json_writer json;
  if (format == REPORT_JSON) {
    json_start(&json, &text);
    json_object(&json);
    json_member_string(&json, "name", agent_name(agent));
    json_member_string(&json, "url", agent_url(agent));
    json_object_end(&json);
  } else {
    buf_format(&text, "%s %s", agent_name(agent), agent_url(agent));
  }
  buf_text(&text, "\n");
  XSP_TRY(output_buf(&text, err));
  return output_finish(err); // now: a script waits for it
}

struct texts { // what the options are read into
  struct buf token, users, certificate, key;
  struct arena arena;
};

static enum status read_users(const struct invocation *invocation, struct agent_options *options, struct texts *texts,
                              struct error *err)
{
  const char *text = NULL, *path = invocation_value(invocation, "users");
  struct guard_user *users = NULL;
  unsigned line = 0;
  XSP_TRY(serving_text(invocation, "users", &texts->users, &text, err));
  if (text == NULL)
    return STATUS_OK;
  if (options->token == NULL)
    return error_set(err, STATUS_USE, "wrong use", "--users", "--token-file FILE",
                     "the agent's owner needs a token, too");
  const char *problem = guard_read_users(slice_of(text), options->token, &texts->arena, &users, &line);
  options->users = users;
  return problem == NULL
             ? STATUS_OK
             : error_set(err, STATUS_INPUT, "cannot use the users", path, "NAME TOKEN", "line %u: %s", line, problem);
}

static enum status read_options(const struct invocation *invocation, struct agent_options *options, struct texts *texts,
                                struct error *err)
{
  *options = (struct agent_options){.registry = invocation_value(invocation, "registry"),
                                    .listen = invocation_value(invocation, "listen"),
                                    .address = invocation_value(invocation, "address"),
                                    .name = invocation_value(invocation, "name"),
                                    .models = invocation_value(invocation, "models"),
                                    .data = invocation_value(invocation, "data"),
                                    .state = invocation_value(invocation, "state"),
                                    .isolates = invocation_has(invocation, "isolate"),
                                    .library = invocation_library(invocation, "microhttpd"),
                                    .message = output_message};
  if (options->registry == NULL)
    return error_set(err, STATUS_USE, "wrong use", "--registry", "--registry http://HOST:2379",
                     "an agent needs a registry");
  XSP_TRY(invocation_unsigned(invocation, "ttl", 1, 3600, &options->ttl_s, err));
  XSP_TRY(invocation_unsigned(invocation, "jobs", 1, 64, &options->jobs, err));
  XSP_TRY(invocation_unsigned(invocation, "queue", 1, 100000, &options->waiting_most, err));
  XSP_TRY(invocation_unsigned(invocation, "queue-each", 1, 100000, &options->waiting_most_each, err));
  if (invocation_has(invocation, "time-limit"))
    XSP_TRY(invocation_unsigned(invocation, "time-limit", 1, 31536000, &options->limit_s, err));
  XSP_TRY(serving_token(invocation, &texts->token, &options->token, err));
  XSP_TRY(serving_tls(invocation, &texts->certificate, &texts->key, &options->certificate, &options->key, err));
  return read_users(invocation, options, texts, err);
}

static enum status serve(const struct invocation *invocation, enum report_format format, struct error *err)
{
  struct agent_options options;
  struct agent *agent = NULL;
  struct texts texts = {0};
  sigset_t signals;
  serving_block_signals(&signals);
  enum status status = read_options(invocation, &options, &texts, err);
  if (status == STATUS_OK)
    status = agent_start(&options, &agent, err);
  if (status == STATUS_OK)
    status = print_address(agent, format, err);
  serving_wait(&signals, status == STATUS_OK || (agent != NULL && output_reader_left()));
  agent_stop(agent);
  buf_done(&texts.token);
  buf_done(&texts.users);
  buf_done(&texts.certificate);
  buf_done(&texts.key);
  arena_done(&texts.arena);
  return status;
}

static enum status run(const struct invocation *invocation, struct error *err)
{
  enum report_format format;
  XSP_TRY(verb_reader_format(invocation, &format, err));
  return invocation_has(invocation, "list") ? agents_print(invocation, format, err) : serve(invocation, format, err);
}

static const struct option_description options[] = {
    {"registry", 0, "URL", NULL, 0,
     "The etcd (3.4 or newer) that agents register with: http[s]://HOST:2379. Required. Its user, if it wants one, is "
     "in "
     "ETCDCTL_USER=NAME:PASSWORD."},
    {"list", 0, NULL, NULL, 0, "List the agents that are registered, and their models, instead of being one."},
    {"listen", 0, "HOST:PORT", "127.0.0.1:0", 0,
     "Where to take evaluations. Port 0 takes a free one. Elsewhere than on this machine's own addresses --token-file "
     "is required."},
    {"address", 0, "URL", NULL, 0,
     "The address by which others reach the agent, if it is not the one it listens at: http[s]://HOST:PORT. With "
     "--listen 0.0.0.0:PORT the host's name is taken."},
    {"name", 0, "NAME", NULL, 0, "The agent's name in the registry. Default: the host's name and the port."},
    {"models", 0, "DIR", NULL, 0,
     "Serve the models whose manifests (*.yml) are in DIR. Files may come and go while the agent runs."},
    {"data", 'd', "DIR", NULL, 0, "Data sets are named below DIR: folders of pictures, .csv, .json and .xspd files."},
    {"state", 0, "DIR", NULL, 0,
     "Keep the queue and its results in DIR, so that an agent that is started again goes on with them. Default: "
     "xsp/agent/NAME in XDG_STATE_HOME, or in ~/.local/state."},
    {"token-file", 0, "FILE", NULL, 0,
     "Refuse requests without the header \"Authorization: Bearer TOKEN\", where TOKEN is the text of this file."},
    {"users", 0, "FILE", NULL, 0,
     "With --token-file: others who may evaluate, within the permissions of manifests. Lines of FILE are NAME TOKEN."},
    OPTIONS_SERVING_TLS,
    {"ttl", 0, "SECONDS", "10", 0, "An agent that was killed is out of the registry after so long."},
    {"jobs", 0, "N", "1", 0, "Run N evaluations at a time. More than one disturb each other's latencies."},
    {"queue", 0, "N", "256", 0, "Let at most N evaluations wait; others are refused (503) until one has begun."},
    {"queue-each", 0, "N", "64", 0, "Let at most N evaluations of a user wait; theirs are refused then (429)."},
    {"time-limit", 0, "SECONDS", NULL, 0,
     "End an evaluation that runs longer, with all its processes; it has failed then. Default: none."},
    {"isolate", 0, NULL, NULL, 0,
     "Run the models in namespaces of their own, as xsp evaluate --isolate: in containers of XSP_IMAGES, else on the "
     "host's files, read-only."},
    {"library", 0, "NAME=PATH", NULL, OPTION_REPEATABLE,
     "With NAME microhttpd: take this libmicrohttpd; also by the environment variable XSP_LIBRARY_MICROHTTPD."},
    {0},
};
static const struct verb_example examples[] = {
    {"xsp agent --registry http://127.0.0.1:2379 --models models/ --data data/", "serve this machine's models"},
    {"xsp agent --registry http://etcd:2379 --listen 0.0.0.0:4319 --token-file token --models models/", "to others"},
    {"xsp agent --list --registry http://etcd:2379", "who is there, and with which models"},
    {0},
};

const struct verb verb_agent = {
    .name = "agent",
    .summary = "evaluate models of this machine for other machines",
    .synopsis = "--registry URL [OPTION...]",
    .description =
        "Registers what this machine has (frameworks and their versions, processor, memory, GPUs, models) with etcd, "
        "and takes evaluations by HTTP (docs/agents.md): POST /evaluations. Each runs as a process xsp evaluate. "
        "xsp evaluate --registry URL --on CONSTRAINTS chooses an agent and waits for the result. Where several users "
        "wait, "
        "they take turns. An agent that is started again goes on with its queue.\n\n"
        "It prints its name and address, and stops at Ctrl-C or SIGTERM. Where the registry goes away, the agent goes "
        "on and registers again.\n\n"
        "Without a token only requests from this machine are taken, and none that a web page of another site sends. "
        "Who has the token of --token-file may publish models, whose manifests may run code here.",
    .least_arguments = 0,
    .most_arguments = 0,
    .options = options,
    .is_reader = true,
    .examples = examples,
    .see_also = "evaluate, serve, check",
    .run = run,
};
