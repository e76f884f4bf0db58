// SPDX-License-Identifier: Apache-2.0
// --publish of export, run and profile: options in, spans out, one line on stderr.
#include "programs/xsp/publish_options.h"

#include "programs/xsp/output.h"

#include <inttypes.h>
#include <signal.h>

enum status publish_options_read(const struct invocation *invocation, struct publish_options *ret_options,
                                 struct error *err)
{
  *ret_options = (struct publish_options){.address = invocation_value(invocation, "publish"),
                                          .token_file = invocation_value(invocation, "publish-token-file"),
                                          .spool = invocation_value(invocation, "spool"),
                                          .message = output_message};
  return invocation_unsigned(invocation, "publish-timeout", 1, 86400, &ret_options->patience_s, err);
}

enum status publish_options(const struct invocation *invocation, struct publisher **ret_publisher, struct error *err)
{
  static const char *const others[] = {"publish-token-file", "publish-timeout", "spool"};
  struct publish_options options;
  *ret_publisher = NULL;
  XSP_TRY(publish_options_read(invocation, &options, err));
  if (options.address != NULL)
    return publish_open(&options, ret_publisher, err);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (invocation_has(invocation, others[i]))
      return error_set(err, STATUS_USE, "wrong use", others[i], "--publish URL",
                       "it acts on --publish, which is missing");
  return STATUS_OK;
}

// The verbs have let Ctrl-C end a program or an experiment. It now ends xsp.
static void let_signals_end(void)
{
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  sigset_t set;
  sigemptyset(&set);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct sigaction before;
    sigaddset(&set, numbers[i]);
    if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) // nohup
      signal(numbers[i], SIG_DFL);
  }
  sigprocmask(SIG_UNBLOCK, &set, NULL);
}

// Counts what was sent `before` with the rest.
static enum status send_waiting(struct publisher *publisher, const struct publish_result *before,
                                struct publish_result *ret_result, struct error *err)
{
  enum status status = publish_send(publisher, ret_result, err);
  uint64_t spans = before->span_count + ret_result->span_count;
  uint64_t requests = before->request_count + ret_result->request_count;
  if (status == STATUS_OK || spans > 0)
    output_message("xsp: published %" PRIu64 " span%s in %" PRIu64 " request%s to %s", spans, spans == 1 ? "" : "s",
                   requests, requests == 1 ? "" : "s", publish_url(publisher));
  return status;
}

enum status publish_options_now(struct publisher *publisher, struct store *store, bool is_json,
                                struct publish_result *ret_result, struct error *err)
{
  *ret_result = (struct publish_result){0};
  if (store != NULL)
    XSP_TRY(publish_add(publisher, store, is_json, err));
  return send_waiting(publisher, &(struct publish_result){0}, ret_result, err);
}

void publish_options_after(struct publisher *publisher, struct store *store)
{
  struct error err = {0};
  struct publish_result result;
  if (publisher == NULL || store == NULL)
    return;
  let_signals_end();
  if (publish_options_now(publisher, store, false, &result, &err) != STATUS_OK)
    output_error(&err);
}

void publish_options_rest(struct publisher *publisher, publish_fill *fill, void *context,
                          const struct publish_result *before)
{
  struct error err = {0};
  struct publish_result result;
  let_signals_end();
  enum status status = publish_add_from(publisher, false, fill, context, &err);
  if (status == STATUS_OK)
    status = send_waiting(publisher, before, &result, &err);
  if (status != STATUS_OK)
    output_error(&err);
}
