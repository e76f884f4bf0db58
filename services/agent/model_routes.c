// SPDX-License-Identifier: Apache-2.0
// Lists, publishes and removes models; describes the agent. A manifest may run code of its publisher, so only who has the
// owner's token publishes. Called through services/agent/routes.c.
#include "agent/model_routes.h"

#include "agent/agent_private.h"

#include <dirent.h>
#include <stdlib.h>

static const char json_type[] = "application/json";

static bool may_change(struct exchange *exchange)
{
  return agent_of(exchange)->options.token != NULL && exchange->user == NULL;
}

void agent_models_show(struct exchange *exchange)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct json_writer json;
  struct agent_model *models;
  size_t count;
  agent_models_list(agent_of(exchange)->models, exchange->user, &arena, &models, &count);
  struct buf *text = exchange_reply(exchange, 200, json_type);
  json_start(&json, text);
  json_object(&json);
  json_key(&json, "models");
  agent_record_write_models(models, count, &json);
  json_member_bool(&json, "may_change", may_change(exchange));
  json_object_end(&json);
  buf_text(text, "\n");
}

// Names by which POST /evaluations takes them: what lies in the folder of data itself.
void agent_data_show(struct exchange *exchange)
{
  const char *folder = agent_of(exchange)->data;
  struct dirent **entries = NULL;
  int count = folder != NULL ? scandir(folder, &entries, NULL, alphasort) : 0;
  struct json_writer json;
  struct buf *text = exchange_reply(exchange, 200, json_type);
  json_start(&json, text);
  json_object(&json);
  json_member_array(&json, "data");
  for (int i = 0; i < count; i++) {
    if (entries[i]->d_name[0] != '.')
      json_string(&json, entries[i]->d_name);
    free(entries[i]);
  }
  free(entries);
  json_array_end(&json);
  json_object_end(&json);
  buf_text(text, "\n");
}

// True: refused.
static bool lacks_token(struct exchange *exchange)
{
  if (may_change(exchange))
    return false;
  exchange_refuse(exchange, 403, "models are changed with the owner's token only: that of xsp agent --token-file FILE");
  return true;
}

void agent_model_put(struct exchange *exchange)
{
  struct agent *agent = agent_of(exchange);
  struct error err = {0};
  if (lacks_token(exchange))
    return;
  const struct slice text = {exchange->body.data, exchange->body.length};
  enum status status = agent_models_publish(agent->models, exchange->parts[0], text, &err);
  if (status != STATUS_OK) {
    exchange_refuse_error(exchange, status == STATUS_INPUT ? 400 : 500, &err);
    return;
  }
  agent_changed(agent);
  exchange_reply(exchange, 204, json_type);
}

void agent_model_remove(struct exchange *exchange)
{
  struct agent *agent = agent_of(exchange);
  if (lacks_token(exchange))
    return;
  if (!agent_models_delete(agent->models, exchange->parts[0])) {
    exchange_refuse(exchange, 404, "there is no model %s; /models lists all by \"file\"", exchange->parts[0]);
    return;
  }
  agent_changed(agent);
  exchange_reply(exchange, 204, json_type);
}

void agent_system_show(struct exchange *exchange)
{
  struct buf *text = exchange_reply(exchange, 200, json_type);
  agent_describe(agent_of(exchange), text);
  buf_text(text, "\n");
}
