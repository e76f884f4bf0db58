// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of a model, as its framework reports them. Called by check and manifest.
#include "programs/xsp/verb_profile/profile.h"

#include <string.h>

static void add_port(void *context, const char *kind, const char *name, enum tensor_type type, const char *shape)
{
  struct profile_ports *ports = context;
  *vector_add(&ports->list) = (struct profile_port){
      .name = arena_copy(ports->arena, name, strlen(name)),
      .type = tensor_type_facts(type)->bytes > 0 ? tensor_type_facts(type)->name : NULL,
      .shape = strcmp(shape, "-") == 0 ? NULL : arena_format(ports->arena, "[%s]", shape),
      .is_output = strcmp(kind, "output") == 0,
  };
}

enum status profile_ports_read(const struct runner_options *options, int64_t batch, struct profile_ports *ports,
                               struct error *err)
{
  struct level_set levels;
  struct runner runner SCOPED(runner_close);
  (void)level_set_parse("M", 1, &levels);
  XSP_TRY(runner_start(&runner, options, levels, "", NULL, err));
  XSP_TRY(runner_wait_ready(&runner, err));
  XSP_TRY(runner_describe(&runner, add_port, ports, err));
  return batch > 0 ? runner_prepare(&runner, batch, err) : STATUS_OK;
}
