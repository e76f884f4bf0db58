// SPDX-License-Identifier: Apache-2.0
// `xsp run`: which tracers go into the program, and how often the sampler looks at it. Called by verb_run.c.
#include "programs/xsp/verb_run/run_tracers.h"

#include <string.h>

#define SAMPLE_RATE 99 // not in step with what a program does 10 or 100 times a second

// Every -t, each a list; a copy cut at its commas.
enum status run_tracers(const struct invocation *invocation, struct arena *arena,
                        struct run_experiment_options *experiment, struct error *err)
{
  size_t most = 2;
  const char *text;
  for (size_t i = 0; (text = invocation_value_at(invocation, "tracer", i)) != NULL; i++)
    most += strlen(text) + 1;
  const char **names = arena_alloc_array(arena, most, sizeof *names);
  size_t count = 0;
  for (size_t i = 0; (text = invocation_value_at(invocation, "tracer", i)) != NULL; i++) {
    char *rest = arena_copy(arena, text, strlen(text));
    for (char *name; (name = strsep(&rest, ",")) != NULL;) {
      if (name[0] == '\0')
        return error_set(err, STATUS_USE, "wrong use", "--tracer", "-t nvtx,itt; `xsp check` lists them",
                         "a tracer's name is empty");
      names[count++] = name;
    }
  }
  if (count == 0)
    names[count++] = "auto";
  experiment->run.tracers = names;
  return STATUS_OK;
}

// Figures of several level sets are compared: by default no sampler is in them.
enum status run_sampling(const struct invocation *invocation, struct run_experiment_options *experiment,
                         struct error *err)
{
  bool is_named = false;
  for (const char *const *tracer = experiment->run.tracers; *tracer != NULL; tracer++)
    is_named |= strcmp(*tracer, "cpu") == 0;
  experiment->run.sample_rate = is_named || (experiment->set_count == 1 && !experiment->serialize) ? SAMPLE_RATE : 0;
  experiment->run.sample_mode = invocation_value(invocation, "sample-mode");
  return invocation_unsigned(invocation, "sample-rate", 0, 1000, &experiment->run.sample_rate, err);
}
