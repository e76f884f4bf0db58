// SPDX-License-Identifier: Apache-2.0
// xsp data: data sets in one file, and files that are fetched. Each word after `data` is a function of data.h.
#include "base/nearest.h"
#include "base/slice.h"
#include "programs/xsp/verb_data/data.h"

#include <string.h>

static const struct option_description options[] = {
    {"output", 'o', "FOLDER", NULL, 0,
     "extract: where the items go, in folders as their names have them. Default: the current folder; -: stdout."},
    {"list", 0, NULL, NULL, 0, "info: also the name, label and size of each item."},
    OPTION_FORCE,
    {"count", 0, "N", "1000", 0, "generate: how many pictures."},
    {"size", 0, "HxW", "224x224", 0, "generate: their height and width."},
    {"classes", 0, "N", "10", 0, "generate: how many labels, 0 to N-1."},
    {"seed", 0, "N", "0", 0, "generate: the same seed gives the same bytes."},
    {"encoding", 0, "png|jpeg", "png", 0, "generate: what the pictures are."},
    {"sha256", 0, "HEX", NULL, 0, "fetch: the file's checksum, as sha256sum prints it; another file is refused."},
    {"repository", 0, "PLACE", NULL, 0,
     "fetch: what repo:// stands for: a folder or an http(s) URL. Default: XSP_REPOSITORY."},
    {"offline", 0, NULL, NULL, 0, "fetch: only from the cache."},
    {"update", 0, NULL, NULL, 0, "fetch: also where the server has another file than before."},
    {"timeout", 0, "SECONDS", "60", 0, "fetch: give up once nothing came for so long."},
    {"limit-bytes", 0, "N", "16G", 0, "fetch: refuse a larger file."},
    {0},
};

static const struct verb_example examples[] = {
    {"xsp data make digits.xspd digits/", "a folder with a folder of pictures for each class, as one file"},
    {"xsp data generate small.xspd --count 10000 --size 32x32", "made-up pictures of ten classes"},
    {"xsp data info digits.xspd", "how many items, of which labels; checks every byte"},
    {"xsp data extract digits.xspd 3/0001.png -o /tmp", "one picture of it"},
    {"xsp data fetch https://example.org/digits.xspd", "fetch a file once, and print where it is"},
    {0},
};

static const struct word {
  const char *name;
  size_t least, most; // arguments after it
  const char *usage;
  const char *options[8]; // its own ones; --quiet, --format and --json are of all
  enum status (*run)(const struct data_call *call, struct arena *arena, struct error *err);
} words[] = {
    {"make", 2, SIZE_MAX, "xsp data make OUT.xspd FOLDER|CSV...", {"force"}, data_make},
    {"generate",
     1,
     1,
     "xsp data generate OUT.xspd",
     {"force", "count", "size", "classes", "seed", "encoding"},
     data_make_generate},
    {"info", 1, 1, "xsp data info FILE.xspd", {"list"}, data_info},
    {"extract", 1, SIZE_MAX, "xsp data extract FILE.xspd [ITEM...]", {"output", "force"}, data_info_extract},
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
  struct nearest nearest;
  nearest_start(&nearest, name);
  for (size_t i = 0; i < WORDS; i++) {
    nearest_offer(&nearest, words[i].name);
    if (strcmp(name, words[i].name) == 0) {
      *ret_word = &words[i];
      return STATUS_OK;
    }
  }
  char advice[128];
  nearest_advice(&nearest, "xsp data ", "`xsp help data`", advice, sizeof advice);
  return error_set(err, STATUS_USE, "wrong use", name, advice, "xsp data does not know this word");
}

static enum status check_options(const struct invocation *invocation, const struct word *word, struct error *err)
{
  for (size_t i = 0; i < invocation->option_count; i++) {
    const char *name = invocation->options[i].description->name;
    if (!text_is_one_of(name, "quiet", "format", "json", "raw") && !text_is_in(name, word->options))
      return option_refused(name, NULL, word->usage, "it is an option of another word of xsp data", err);
  }
  return STATUS_OK;
}

static enum status run(const struct invocation *invocation, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  const struct word *word = NULL;
  XSP_TRY(find_word(invocation->arguments[0], &word, err));
  XSP_TRY(check_options(invocation, word, err));
  struct data_call call = {invocation, invocation->arguments + 1, invocation->argument_count - 1, REPORT_TEXT};
  XSP_TRY(verb_reader_format(invocation, &call.format, err));
  if (call.count < word->least || call.count > word->most)
    return error_set(err, STATUS_USE, "wrong use", word->name, word->usage, "it takes %s arguments",
                     call.count < word->least ? "more" : "fewer");
  return word->run(&call, &arena, err);
}

const struct verb verb_data = {
    .name = "data",
    .summary = "make and read data sets in one file, fetch files",
    .synopsis = "make|generate|info|extract|fetch ARGUMENT... [OPTION...]",
    .description = "A data set in one file (.xspd) has many small inputs and an index of them (docs/data.md); `xsp "
                   "evaluate --data` "
                   "takes it.\n\n"
                   "  make OUT.xspd SET...        of folders, .csv tables and .xspd files\n"
                   "  generate OUT.xspd           of made-up pictures\n"
                   "  info FILE.xspd              counts its items, and checks every byte\n"
                   "  extract FILE.xspd ITEM...   writes items, or all of them, as files\n"
                   "  fetch URL...                fetches files once into a cache, and prints their paths\n\n"
                   "A URL is http://, https://, file://, repo://PATH, package://NAME/FILE, or a path.",
    .least_arguments = 1,
    .most_arguments = SIZE_MAX,
    .options = options,
    .is_reader = true,
    .examples = examples,
    .see_also = "evaluate",
    .run = run,
};
