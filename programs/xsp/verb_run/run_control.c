// SPDX-License-Identifier: Apache-2.0
// --remote-control of `xsp run`: whether it goes with the other options, and the job that is offered to the server.
#include "programs/xsp/verb_run/run_control.h"

#include "launch/launch.h"
#include "programs/xsp/output.h"

#include <limits.h>
#include <string.h>

static enum status check(const struct run_experiment_options *experiment, struct error *err)
{
  if (experiment->set_count * experiment->runs + experiment->warmups > 1 || experiment->resolve)
    return error_set(err, STATUS_USE, "wrong use", "--remote-control", "one execution at one level set",
                     "executions are compared at levels that stay the same");
  return experiment->run.capture_range == NULL ? STATUS_OK
                                               : error_set(err, STATUS_USE, "wrong use", "--remote-control",
                                                           "one of the two", "--capture-range switches levels, too");
}

enum status run_control(const struct invocation *invocation, const struct publisher *publisher,
                        struct run_experiment_options *experiment, struct arena *arena, struct control **ret_control,
                        struct error *err)
{
  const char *first = invocation_value(invocation, "remote-control");
  struct launch_options *run = &experiment->run;
  char *name = arena_alloc(arena, NAME_MAX + 1);
  struct control_options options = {.name = name, .possible_mask = experiment->sets[0].mask, .message = output_message};
  if (first == NULL)
    return STATUS_OK;
  if (publisher == NULL)
    return error_set(err, STATUS_USE, "wrong use", "--remote-control", "--publish URL of an xsp serve",
                     "it acts on --publish, which is missing");
  if (!level_mask_parse(first, strlen(first), &options.first_mask) ||
      (options.first_mask & ~options.possible_mask) != 0)
    return error_set(err, STATUS_USE, "wrong use", "--remote-control", "none, or levels of --levels as in M/L",
                     "'%s' are not levels that this run can record", first);
  XSP_TRY(check(experiment, err));
  file_name_program(run->command, name, NAME_MAX + 1);
  XSP_TRY(publish_control_open(publisher, &options, ret_control, err));
  run->wanted_mask = publish_control_wanted;
  run->wanted_context = *ret_control;
  run->first_mask = options.first_mask;
  if (!invocation_has(invocation, "quiet"))
    output_message("xsp: job %s: levels %s at first; users of the server may switch them",
                   publish_control_job(*ret_control), first);
  return STATUS_OK;
}
