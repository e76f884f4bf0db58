// SPDX-License-Identifier: Apache-2.0
// What `xsp data` does, a function for each word after it. Called by verb_data.c; arguments are those after that word.
#ifndef XSP_PROGRAMS_XSP_DATA_H
#define XSP_PROGRAMS_XSP_DATA_H

#include "assets/assets.h"
#include "programs/xsp/reader.h"

struct data_call {
  const struct invocation *invocation;
  const char *const *arguments;
  size_t count;
  enum report_format format;
};

enum status data_make(const struct data_call *call, struct arena *arena, struct error *err) MUST_CHECK;
enum status data_make_generate(const struct data_call *call, struct arena *arena, struct error *err) MUST_CHECK;
enum status data_info(const struct data_call *call, struct arena *arena, struct error *err) MUST_CHECK;
enum status data_info_extract(const struct data_call *call, struct arena *arena, struct error *err) MUST_CHECK;
enum status data_fetch(const struct data_call *call, struct arena *arena, struct error *err) MUST_CHECK;
// What asset_get needs of the options --repository, --offline, --update, --limit-bytes and --quiet, as far as the verb has them.
enum status data_fetch_request(const struct invocation *invocation, struct asset_request *ret_request,
                               struct error *err) MUST_CHECK;

#endif
