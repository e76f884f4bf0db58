// SPDX-License-Identifier: Apache-2.0
// xsp data: data sets in one file, and files that are fetched. Each word after `data` is a function of data.h.
#include "base/slice.h"
#include "programs/xsp/data.h"

#include <string.h>

static const struct option_description options[] = {
    {"sha256", 0, "HEX", NULL, false,
     "fetch: the checksum of the file, as sha256sum prints it; another file is refused."},
    {"repository", 0, "PLACE", NULL, false,
     "fetch: what repo:// stands for: a folder or an http(s) URL. Default: XSP_REPOSITORY."},
    {"offline", 0, NULL, NULL, false, "fetch: only from the cache."},
    {"update", 0, NULL, NULL, false, "fetch: also where the server has another file than before."},
    {"timeout", 0, "SECONDS", "60", false, "fetch: give up once nothing came for so long."},
    {"limit-bytes", 0, "N", "16G", false, "fetch: refuse a larger file."},
    {"quiet", 'q', NULL, NULL, false, "No progress on stderr."},
    {0},
};

static const struct verb_example examples[] = {
    {"xsp data fetch https://example.org/digits.xspd --sha256 9f86d0…", "fetch a file once, and print where it is"},
    {0},
};

static const struct word {
  const char *name;
  size_t least, most; // arguments after it
  const char *usage;
  const char *options[8]; // its own ones; --quiet, --format and --json are of all
  enum status (*run)(const struct data_call *call, struct arena *arena, struct error *err);
} words[] = {
    {"fetch",
     1,
     SIZE_MAX,
     "xsp data fetch URL...",
     {"sha256", "repository", "offline", "update", "timeout", "limit-bytes"},
     data_fetch},
};
#define WORDS (sizeof words / sizeof words[0])

static enum status find_word(const char *name, const struct word **ret_word, struct error *err)
{
  for (size_t i = 0; i < WORDS; i++)
    if (strcmp(name, words[i].name) == 0) {
      *ret_word = &words[i];
      return STATUS_OK;
    }
  return error_set(err, STATUS_USE, "wrong use", name, "`xsp help data`", "xsp data does not know this word");
}

static enum status check_options(const struct invocation *invocation, const struct word *word, struct error *err)
{
  for (size_t i = 0; i < invocation->option_count; i++) {
    const char *name = invocation->options[i].description->name;
    if (!text_is_one_of(name, "quiet", "format", "json") && !text_is_in(name, word->options))
      return error_set(err, STATUS_USE, "wrong use", name, word->usage, "xsp data %s does not have this option",
                       word->name);
  }
  return STATUS_OK;
}

static enum status run(const struct invocation *invocation, struct error *err)
{
  struct arena arena = {0};
  const struct word *word = NULL;
  XSP_TRY(find_word(invocation->arguments[0], &word, err));
  XSP_TRY(check_options(invocation, word, err));
  const struct data_call call = {invocation, invocation->arguments + 1, invocation->argument_count - 1};
  if (call.count < word->least || call.count > word->most)
    return error_set(err, STATUS_USE, "wrong use", word->name, word->usage, "it takes %s arguments",
                     call.count < word->least ? "more" : "fewer");
  enum status status = word->run(&call, &arena, err);
  arena_done(&arena);
  return status;
}

const struct verb verb_data = {
    .name = "data",
    .summary = "make and read data sets in one file, fetch files",
    .synopsis = "fetch URL... [OPTION...]",
    .description = "  xsp data fetch URL...\n"
                   "    Fetches each file once, and prints its path. URL: http://, https://, file://, repo://PATH, "
                   "package://NAME/FILE, or a path.\n",
    .least_arguments = 1,
    .most_arguments = SIZE_MAX,
    .options = options,
    .is_reader = true,
    .examples = examples,
    .see_also = "evaluate",
    .run = run,
};
