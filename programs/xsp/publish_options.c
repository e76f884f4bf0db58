// SPDX-License-Identifier: Apache-2.0
// --publish of export, run and profile: options in, spans out, one line on stderr.
#include "programs/xsp/publish_options.h"

#include "programs/xsp/output.h"

#include <inttypes.h>
#include <signal.h>

enum status publish_options(const struct invocation *invocation, struct publisher **ret_publisher, struct error *err)
{
  static const char *const others[] = {"publish-token-file", "publish-timeout", "spool"};
  struct publish_options options = {.address = invocation_value(invocation, "publish"),
                                    .token_file = invocation_value(invocation, "publish-token-file"),
                                    .spool = invocation_value(invocation, "spool"),
                                    .message = output_message};
  *ret_publisher = NULL;
  XSP_TRY(invocation_unsigned(invocation, "publish-timeout", 1, 86400, &options.patience_s, err));
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

enum status publish_now(struct publisher *publisher, struct store *store, bool is_json, struct error *err)
{
  struct publish_result result;
  if (store != NULL)
    XSP_TRY(publish_add(publisher, store, is_json, err));
  enum status status = publish_send(publisher, &result, err);
  if (status == STATUS_OK || result.span_count > 0)
    output_message("xsp: published %" PRIu64 " span%s in %" PRIu64 " request%s to %s", result.span_count,
                   result.span_count == 1 ? "" : "s", result.request_count, result.request_count == 1 ? "" : "s",
                   publish_url(publisher));
  return status;
}

void publish_after(struct publisher *publisher, struct store *store)
{
  struct error err = {0};
  if (publisher == NULL || store == NULL)
    return;
  let_signals_end();
  if (publish_now(publisher, store, false, &err) != STATUS_OK)
    output_error(&err);
}
