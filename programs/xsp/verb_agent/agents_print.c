// SPDX-License-Identifier: Apache-2.0
// The tables of registered agents; see agents.h.
#include "agent/registry.h"
#include "programs/xsp/output.h"
#include "programs/xsp/verb_agent/agents.h"
#include "table/builder.h"

static struct table_cell known(int64_t number)
{
  return cell_int_if(number != 0, number);
}

static const char *frameworks_of(const struct agent_record *agent, struct arena *arena)
{
  const char *text = NULL;
  for (size_t i = 0; i < agent->framework_count; i++)
    text = arena_format(arena, "%s%s%s%s%s", text != NULL ? text : "", text != NULL ? ", " : "",
                        agent->frameworks[i].name, agent->frameworks[i].version != NULL ? " " : "",
                        agent->frameworks[i].version != NULL ? agent->frameworks[i].version : "");
  return text;
}

static void put_agent(struct table_builder *table, const struct agent_record *agent)
{
  table_row(table);
  table_put(table, "agent", cell_text(agent->name));
  table_put(table, "url", cell_text(agent->url));
  table_put(table, "busy", cell_int(agent->busy));
  table_put(table, "jobs", known(agent->jobs));
  table_put(table, "architecture", cell_text(agent->architecture));
  table_put(table, "cpu_model", cell_text(agent->cpu_model));
  table_put(table, "cpus", known(agent->cpus));
  table_put(table, "memory_bytes", known(agent->memory_bytes));
  table_put(table, "gpu_model", cell_text(agent->gpu_model));
  table_put(table, "gpus", known(agent->gpus));
  table_put(table, "gpu_memory_bytes", known(agent->gpu_memory_bytes));
  table_put(table, "interconnect", cell_text(agent->interconnect));
  table_put(table, "models", cell_int((int64_t)agent->model_count));
  table_put(table, "frameworks", cell_text(frameworks_of(agent, table->arena)));
}

static void put_model(struct table_builder *table, const char *agent, const struct agent_model *model)
{
  table_row(table);
  table_put(table, "model", cell_text(model->name));
  table_put(table, "version", cell_text(model->version));
  table_put(table, "task", cell_text(model->task));
  table_put(table, "framework", cell_text(model->framework));
  table_put_as(table, "framework_version", "wants", cell_text(model->framework_version));
  table_put(table, "agent", cell_text(agent));
}

static enum status print(const struct agent_list *agents, enum report_format format, struct arena *arena,
                         struct error *err)
{
  struct table tables[] = {{.id = "agents", .title = "machines that evaluate"},
                           {.id = "models", .title = "what they serve"}};
  struct table_builder builders[2];
  size_t models = 0;
  for (size_t i = 0; i < 2; i++)
    table_start(&builders[i], arena);
  put_agent(&builders[0], &(struct agent_record){0});
  table_declared(&builders[0], agents->count);
  put_model(&builders[1], NULL, &(struct agent_model){0});
  for (size_t i = 0; i < agents->count; i++)
    models += agents->items[i].model_count;
  table_declared(&builders[1], models);
  for (size_t i = 0; i < agents->count; i++) {
    put_agent(&builders[0], &agents->items[i]);
    for (size_t k = 0; k < agents->items[i].model_count; k++)
      put_model(&builders[1], agents->items[i].name, &agents->items[i].models[k]);
  }
  for (size_t i = 0; i < 2; i++)
    table_answer(&builders[i], &tables[i]);
  return output_tables(tables, 2, format, true, err);
}

enum status agents_print(const struct invocation *invocation, enum report_format format, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct etcd *etcd = NULL;
  struct agent_list agents;
  const char *url = invocation_value(invocation, "registry");
  if (url == NULL)
    return error_set(err, STATUS_USE, "wrong use", "--list", "--registry http://HOST:2379", "there is no registry");
  enum status status = etcd_open(url, &etcd, err);
  if (status == STATUS_OK)
    status = registry_agents(etcd, output_message, &arena, &agents, err);
  if (status == STATUS_OK)
    status = print(&agents, format, &arena, err);
  etcd_close(etcd);
  return status;
}
