// SPDX-License-Identifier: Apache-2.0
// xsp import: an .xsp file from what other profilers recorded.
#include "base/slice.h"
#include "programs/xsp/output.h"
#include "programs/xsp/verb.h"
#include "programs/xsp/verb_import/import_store.h"

#define THREADS_MOST 2

// ---- what is said of files: the last of these options before each FILE ------------------------------------------------
static enum status take_given(const struct invocation_option *option, struct import_given *given, bool *ret_is_taken,
                              struct error *err)
{
  const char *name = option->description->name;
  int64_t number = 0;
  *ret_is_taken = true;
  if (strcmp(name, "batch") == 0)
    return option_int64(name, option->value, 1, INT64_MAX, &given->batch_size, err);
  if (strcmp(name, "warmup") == 0) {
    XSP_TRY(option_int64(name, option->value, 0, UINT32_MAX, &number, err));
    given->warmups = (unsigned)number;
    return STATUS_OK;
  }
  *ret_is_taken = strcmp(name, "levels") == 0;
  if (*ret_is_taken && !level_set_parse(option->value, strlen(option->value), &given->levels))
    return error_set(err, STATUS_USE, "not a level set", "--levels",
                     "levels A, M, L, Lib, K in this order, as in M/L/K", "'%s'", option->value);
  return STATUS_OK;
}

static enum status read_given(const struct invocation *invocation, struct arena *arena,
                              const struct import_given **ret_given, struct error *err)
{
  size_t count = invocation->argument_count;
  struct import_given now = {0}, *given = arena_alloc_array(arena, count, sizeof *given);
  for (size_t i = 0; i < invocation->option_count; i++) {
    const struct invocation_option *option = &invocation->options[i];
    bool is_taken;
    XSP_TRY(take_given(option, &now, &is_taken, err));
    if (is_taken && option->argument_count == count)
      return error_set(err, STATUS_USE, "wrong use", arena_format(arena, "--%s", option->description->name),
                       "it before the FILE that it describes", "no FILE follows it");
    for (size_t file = option->argument_count; is_taken && file < count; file++)
      given[file] = now;
  }
  *ret_given = given;
  return STATUS_OK;
}

static enum status read_options(const struct invocation *invocation, struct import_options *options, struct error *err)
{
  options->format = invocation_value(invocation, "from");
  XSP_TRY(import_format_check(options->format, err));
  options->layer = invocation_value(invocation, "layer");
  options->model_range = invocation_value(invocation, "model-range");
  XSP_TRY(invocation_unsigned(invocation, "threads", 1, THREADS_MOST, &options->threads, err));
  return invocation_bytes(invocation, "limit-bytes", 1, UINT64_MAX, &options->limit_bytes, err);
}

// ---- importing -------------------------------------------------------------------------------------------------------
// What was asked, before anything is made.
static enum status check(const struct invocation *invocation, const char *output, struct arena *arena,
                         struct import_options *options, struct error *err)
{
  XSP_TRY(read_options(invocation, options, err));
  XSP_TRY(read_given(invocation, arena, &options->given, err));
  return invocation_refuse_input(invocation, output, err);
}

static enum status import(const struct invocation *invocation, const char *path, struct import_options *options,
                          struct arena *arena, struct error *err)
{
  struct store *store = NULL;
  import_store_catch_signals();
  XSP_TRY(store_create(path, invocation_has(invocation, "force"), &store, err));
  store_warn_of_leftover(store, output_message);
  struct import_report report = {.output = path};
  enum status status =
      import_store_fill(invocation->arguments, invocation->argument_count, options, store, arena, &report, err);
  enum status printed = STATUS_OK;
  if (status == STATUS_OK) // before the file appears: where its account cannot be written, there is none
    printed = import_print(&report, invocation_has(invocation, "json"), err);
  if (status == STATUS_OK)
    status = printed == STATUS_OK || output_reader_left() ? store_finish(store, err) : printed;
  if (status != STATUS_OK) {
    store_discard(store);
    import_store_leave_interrupted();
  } else {
    store_close(store);
    status = printed;
  }
  if (status == STATUS_OK) {
    output_note("xsp: wrote %s", path);
    output_next(path);
  }
  return status;
}

static enum status run(const struct invocation *invocation, struct error *err)
{
  const char *path = invocation_value(invocation, "output");
  struct import_options options = {0};
  struct arena arena SCOPED(arena_done) = {0};
  if (path == NULL)
    return error_set(err, STATUS_USE, "wrong use", "import", "-o OUT.xsp", "the output's name is missing");
  XSP_TRY(check(invocation, path, &arena, &options, err));
  return import(invocation, path, &options, &arena, err);
}

static const struct option_description options[] = {
    {"output", 'o', "OUT.xsp", NULL, 0, "The file to write. It appears when it is complete."},
    {"from", 0, "FORMAT", NULL, 0, "What the files are, by one of the names above, instead of looking."},
    {"layer", 0, "outermost|innermost|module", NULL, 0,
     "Which layers `xsp analyze` is to take by default: outermost, innermost or module. Nothing is left out of the "
     "file."},
    {"model-range", 0, "PATTERN", NULL, 0,
     "Ranges (NVTX, generic Chrome events) whose text matches are model level, one step each; * and ? match any text "
     "and character."},
    {"batch", 'b', "N", NULL, OPTION_REPEATABLE,
     "The batch size of the FILEs after this option, up to the next --batch: traces do not record it."},
    {"levels", 'l', "SET", NULL, OPTION_REPEATABLE,
     "The levels of the FILEs after this option, as in M/L/K or M/K+metrics. Default: those of their spans."},
    {"warmup", 'w', "N", NULL, OPTION_REPEATABLE,
     "The first N observations of each of the FILEs after this option are warm-ups: they are in no statistic."},
    {"limit-bytes", 0, "N", NULL, 0,
     "Refuse files of more than N bytes after decompression; K, M, G and T multiply by 1024. Default: 4G."},
    {"threads", 0, "N", NULL, 0,
     "1: read, write and find parents on one thread. 2: read and write on several, which also find the parents of a "
     "million spans or more. Default: 2."},
    OPTION_FORCE,
    {"json", 0, NULL, NULL, 0, "Print the account as JSON."},
    {0},
};
static const struct verb_example examples[] = {
    {"xsp import trace.json.gz -o trace.xsp", "a PyTorch profiler trace, recognised by its content"},
    {"xsp import rank0.json rank1.json -o ranks.xsp", "two files, one experiment: a run each"},
    {"xsp import --warmup 1 --batch 1 b1.json --batch 2 b2.json -o batches.xsp",
     "an experiment over batch sizes; the first step of each file is a warm-up"},
    {"xsp import report.sqlite -o nsys.xsp --model-range 'step *'",
     "Nsight Systems; its ranges \"step N\" are the steps"},
    {0},
};

static void put_formats(struct buf *out)
{
  const char *name, *summary;
  for (size_t i = 0; (name = import_format_at(i, &summary)) != NULL; i++)
    buf_format(out, "%s  %-15s %s", i > 0 ? "\n" : "", name, summary);
}

const struct verb verb_import = {
    .name = "import",
    .summary = "make a file of what other profilers recorded",
    .synopsis = "FILE... -o OUT.xsp [OPTION...]",
    .description =
        "Takes over traces that other tools wrote, rebuilds who is whose parent, and prints what it recognised, what "
        "it kept, what it skipped and why, and which kernels belong to no operator or range and why.\n\n" VERB_LIST
        "\n\n"
        "Files may be compressed by gzip or zstd. One file is one run, all files of a call are one experiment; "
        "--batch, "
        "--levels and --warmup before a FILE describe its run. Kernels "
        "whose launch was not recorded are kept and counted, never guessed at.",
    .put_list = put_formats,
    .least_arguments = 1,
    .most_arguments = SIZE_MAX,
    .options = options,
    .examples = examples,
    .see_also = "info, analyze, sql",
    .run = run,
};
