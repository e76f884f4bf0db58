// SPDX-License-Identifier: Apache-2.0
// xsp compare: what is slower or faster on side b than on side a, and whether that is certain.
#include "base/file_place.h"
#include "base/memory.h"
#include "base/slice.h"
#include "programs/xsp/output.h"
#include "programs/xsp/reader.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_SPANS 1000000 // rectangles of the page, as of xsp report

struct sides {
  struct reader_files files[2];
  const char *experiments[2]; // NULL: all of the side's files
  struct arena arena;
};

static bool is_folder(const char *path)
{
  struct stat facts;
  return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

// Where no file has this whole name, "FILE:EXPERIMENT" for the longest FILE that there is: names may have colons.
static const char *split_side(struct arena *arena, const char *argument, const char **ret_experiment)
{
  char *path = arena_copy(arena, argument, strlen(argument));
  *ret_experiment = NULL;
  if (access(argument, F_OK) == 0)
    return argument;
  for (char *colon; (colon = strrchr(path, ':')) != NULL;) {
    *colon = 0;
    if (access(path, F_OK) == 0) {
      *ret_experiment = argument + (colon - path) + 1;
      return path;
    }
  }
  return argument;
}

static enum status open_side(struct sides *sides, int which, const char *argument, struct error *err)
{
  const char *path = split_side(&sides->arena, argument, &sides->experiments[which]);
  return verb_reader_files_open(&path, 1, is_folder(path), NULL, &sides->files[which], err);
}

// Of one file with two experiments, these are the sides.
static enum status open_both_in(struct sides *sides, const char *path, struct error *err)
{
  struct store_experiment *experiments;
  size_t count;
  if (is_folder(path))
    return error_set(err, STATUS_USE, "wrong use", path, "xsp compare A B; --history takes a folder as one",
                     "the other side is missing");
  for (int which = 0; which < 2; which++)
    XSP_TRY(verb_reader_files_open(&path, 1, false, NULL, &sides->files[which], err));
  XSP_TRY(store_experiments(sides->files[0].stores.items[0], &sides->arena, &experiments, &count, err));
  if (count != 2)
    return error_set(err, STATUS_USE, "wrong use", path, "xsp compare A B; a side may be FILE:EXPERIMENT",
                     "the other side is missing: the file has %zu experiment%s, not 2", count, count == 1 ? "" : "s");
  for (int which = 0; which < 2; which++)
    sides->experiments[which] = arena_format(&sides->arena, "%" PRId64, experiments[which].experiment_id);
  return STATUS_OK;
}

static enum status read_request(const struct invocation *invocation, struct compare_request *request, struct error *err)
{
  struct analyze_request *analyze = &request->analyze;
  compare_request_init(request);
  analyze->layer = invocation_value(invocation, "layer");
  analyze->statistic = invocation_value(invocation, "stat");
  XSP_TRY(question_statistic_check(analyze, &(struct statistic){0}, err));
  analyze->cold = invocation_has(invocation, "cold");
  analyze->latency_basis = invocation_value(invocation, "latency-basis");
  request->kind = invocation_value(invocation, "kind");
  XSP_TRY(invocation_int64(invocation, "batch", 1, INT64_MAX, &analyze->batch, err));
  XSP_TRY(invocation_int64(invocation, "top", 1, INT64_MAX, &analyze->top, err));
  XSP_TRY(invocation_percent(invocation, "threshold", 0, 1e6, &request->least_pct, err));
  return invocation_percent(invocation, "same-within", 0, 1e6, &request->same_within_pct, err);
}

// The exit status: STATUS_NO where it is slower, STATUS_INPUT where it does not compare.
static enum status judge(const struct invocation *invocation, const struct compare_answer *answer, double above_pct,
                         struct error *err)
{
  if (answer->slower_pct > above_pct || (invocation_has(invocation, "fail-rows") && answer->slower_row_pct > above_pct))
    return STATUS_NO;
  if (answer->verdict != VERDICT_NOT_COMPARABLE)
    return STATUS_OK;
  return error_set(err, STATUS_INPUT, "cannot compare", "the models",
                   "xsp info FILE, which lists levels and batch sizes",
                   "other batch sizes or levels, or a's time is 0");
}

static enum status write_stacks(const struct invocation *invocation, const struct compare_answer *answer,
                                struct error *err)
{
  const char *path = invocation_value(invocation, "output");
  enum status status = report_difference_file(answer, path, invocation_has(invocation, "force"), err);
  output_note_reader(path, status, err);
  if (status == STATUS_OK && strcmp(path, "-") != 0)
    output_note("xsp: wrote %s", path);
  return status;
}

static const char *page_path(const struct invocation *invocation)
{
  const char *path = invocation_value(invocation, "output");
  return path != NULL && text_ends_with(path, ".html") && !invocation_has(invocation, "to") ? path : NULL;
}

// A name alone, where no other file has it.
static void name_files(struct report_page_file *files, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    const char *path = store_path(files[i].store), *name = basename(path);
    files[i].name = name;
    for (size_t k = 0; k < count; k++)
      if (k != i && strcmp(basename(store_path(files[k].store)), name) == 0)
        files[i].name = path;
  }
}

// b comes first, so that the page opens on it. One file with both sides is there once.
static enum status write_page(const struct invocation *invocation, struct sides *sides,
                              const struct compare_answer *answer, struct error *err)
{
  const char *path = page_path(invocation);
  size_t first_of_a = sides->files[1].stores.count, count = 0;
  struct output_steps steps = {.path = path};
  struct report_page_file *files SCOPED(scoped_free) =
      memory_new(first_of_a + sides->files[0].stores.count, sizeof *files);
  for (int which = 1; which >= (invocation->argument_count == 1 ? 1 : 0); which--)
    for (size_t i = 0; i < sides->files[which].stores.count; i++)
      files[count++].store = sides->files[which].stores.items[i];
  name_files(files, count);
  for (size_t i = 0; i < count; i++) {
    const char *experiment = sides->experiments[i < first_of_a];
    if (experiment != NULL && invocation->argument_count == 2)
      files[i].name = arena_format(&sides->arena, "%s:%s", files[i].name, experiment);
  }
  const struct report_page_options options = {.max_spans = PAGE_SPANS,
                                              .comparison = answer,
                                              .first_of_a = first_of_a,
                                              .has_source = true,
                                              .watcher = {output_headway_step, &steps}};
  XSP_TRY(report_page_write(files, count, &options, path, invocation_has(invocation, "force"), err));
  output_headway_end(&steps.headway);
  output_note("xsp: wrote %s (open it in a browser)", path);
  return STATUS_OK;
}

// A history is of models alone, and in order of time.
static enum status check_history(const struct invocation *invocation, struct error *err)
{
  static const char *const of_sides[] = {"--kind", "--top", "--layer", "--fail-rows"};
  for (size_t i = 0; i < sizeof of_sides / sizeof of_sides[0]; i++)
    if (invocation_has(invocation, of_sides[i] + 2))
      return error_set(err, STATUS_USE, "wrong use", of_sides[i], "xsp compare A B, for two of the files",
                       "a history has the latency of one model, one row a file");
  return STATUS_OK;
}

static enum status check_output(const struct invocation *invocation, bool is_history, struct error *err)
{
  static const char *const of_status[] = {"--fail-above", "--fail-rows"};
  const char *format = invocation_value(invocation, "to"), *path = invocation_value(invocation, "output");
  for (size_t i = 0; format != NULL && i < sizeof of_status / sizeof of_status[0]; i++)
    if (invocation_has(invocation, of_status[i] + 2))
      return error_set(err, STATUS_USE, "wrong use", of_status[i], "two calls: one without --to for the status",
                       "with --to the status does not depend on the verdict");
  if (is_history && (format != NULL || page_path(invocation) != NULL))
    return error_set(err, STATUS_USE, "wrong use", format != NULL ? "--to" : "-o",
                     "two of the files; xsp history, for tables and pages of many", "a history has no %s",
                     format != NULL ? "stacks" : "page");
  if (path != NULL && strcmp(path, "-") != 0)
    XSP_TRY(file_place_check(path, invocation_has(invocation, "force"), err));
  if ((format != NULL) == (path != NULL) || page_path(invocation) != NULL)
    return STATUS_OK;
  return error_set(err, STATUS_USE, "wrong use", format != NULL ? "--to" : "-o",
                   "-o OUT.html, for a page; --to folded -o OUT, for stacks",
                   format != NULL ? "there is no -o" : "the name does not end with .html, and there is no --to");
}

// Of two sides, or the one file that has both.
static enum status compare_sides(const struct invocation *invocation, struct sides *sides,
                                 const struct compare_request *request, struct compare_answer *ret, struct error *err)
{
  struct compare_side typed[2];
  if (invocation->argument_count == 1)
    XSP_TRY(open_both_in(sides, invocation->arguments[0], err));
  for (size_t which = 0; which < 2 && invocation->argument_count == 2; which++)
    XSP_TRY(open_side(sides, (int)which, invocation->arguments[which], err));
  for (int which = 0; which < 2; which++)
    typed[which] = (struct compare_side){sides->files[which].stores.items, sides->files[which].stores.count,
                                         sides->experiments[which]};
  return analyze_compare(&typed[0], &typed[1], request, &sides->arena, ret, err);
}

static enum status compare_history(const struct invocation *invocation, struct sides *sides,
                                   const struct compare_request *request, struct compare_answer *ret, struct error *err)
{
  struct reader_files *files = &sides->files[0];
  XSP_TRY(verb_reader_files_open(invocation->arguments, invocation->argument_count, true, NULL, files, err));
  return analyze_history(files->stores.items, files->stores.count, request, &sides->arena, ret, err);
}

static enum status print_and_judge(const struct invocation *invocation, const struct compare_answer *answer,
                                   enum report_format format, double above_pct, struct error *err)
{
  struct buf out;
  buf_init(&out, BUF_MAXIMUM_DEFAULT);
  report_comparison(answer, format, output_width(), &out);
  XSP_TRY(output_buf(&out, err));
  return judge(invocation, answer, above_pct, err);
}

static enum status compare(const struct invocation *invocation, struct sides *sides, struct error *err)
{
  struct compare_request request;
  struct compare_answer answer;
  enum report_format format;
  double above_pct = -INFINITY;
  bool is_history = invocation->argument_count > 2 || invocation_has(invocation, "history");
  XSP_TRY(verb_reader_format(invocation, &format, err));
  XSP_TRY(invocation_percent(invocation, "fail-above", 0, 1e6, &above_pct, err));
  XSP_TRY(read_request(invocation, &request, err));
  XSP_TRY(check_output(invocation, is_history, err));
  if (is_history)
    XSP_TRY(check_history(invocation, err));
  enum status status = (is_history ? compare_history : compare_sides)(invocation, sides, &request, &answer, err);
  if (status == STATUS_NO) // what is missing makes the input unusable
    return err->status = STATUS_INPUT;
  XSP_TRY(status);
  if (page_path(invocation) != NULL)
    XSP_TRY(write_page(invocation, sides, &answer, err));
  if (invocation_has(invocation, "to"))
    XSP_TRY(write_stacks(invocation, &answer, err));
  else
    XSP_TRY(print_and_judge(invocation, &answer, format, above_pct, err));
  enum status broken = sides->files[0].broken.status; // of files in folders or a history that were left out, and named
  return broken != STATUS_OK ? broken : sides->files[1].broken.status;
}

static enum status run(const struct invocation *invocation, struct error *err)
{
  struct sides sides = {0};
  enum status status = compare(invocation, &sides, err);
  for (int which = 0; which < 2; which++)
    verb_reader_files_close(&sides.files[which]);
  arena_done(&sides.arena);
  return status;
}

static const struct option_description options[] = {
    {"batch", 'b', "N", NULL, 0,
     "The batch size to compare at. Default: the one that xsp analyze chooses for a, else the smallest that all "
     "experiments have."},
    {"kind", 0, "model|layer|kernel", NULL, 0, "Only rows of this kind."},
    {"top", 'n', "N", NULL, 0, "Only the first N rows of each kind: those with the largest differences."},
    {"threshold", 0, "PERCENT", "1", 0,
     "The smallest difference that counts. b is slower where the whole interval is above it."},
    {"same-within", 0, "PERCENT", "5", 0,
     "a and b are the same where the whole interval is within this of 0, and neither is slower."},
    {"fail-above", 0, "PERCENT", NULL, 0,
     "Status 1 only where b is slower by more than this. Default: wherever b is slower."},
    {"fail-rows", 0, NULL, NULL, 0, "Status 1 also where a layer or a kernel is slower."},
    {"history", 0, NULL, NULL, 0, "Take the files, or those of a folder, as a history, as three or more always are."},
    {"layer", 0, "outermost|innermost|all|module", NULL, 0, "What counts as a layer, as in xsp analyze."},
    {"stat", 0, "STATISTIC", NULL, 0, "Over the observations, as in xsp analyze. Default: trimmed:0.2."},
    {"latency-basis", 0, "host|device", NULL, 0,
     "Of layers: host or device, on both sides. Default: device where launches return before the work is done and "
     "both sides have kernels."},
    {"to", 0, "folded", NULL, 0,
     "Write a file instead: folded, own time by context on both sides, for differential flame graphs. Status 0."},
    {"output", 'o', "OUT", NULL, 0,
     "OUT.html: also write a page with the comparison and both sides, as xsp report does. With --to: the file to "
     "write; -: "
     "stdout. It appears when it is complete."},
    OPTION_FORCE,
    {"cold", 0, NULL, NULL, 0, "Compare the first inferences of fresh processes (xsp profile --cold)."},
    {0},
};
static const struct verb_example examples[] = {
    {"xsp compare before.xsp after.xsp", "is it slower, and where"},
    {"xsp compare before/ after/ --fail-above 3%", "in CI, several runs on each side: status 1 if slower by over 3 %"},
    {"xsp compare versions.xsp", "the two experiments of one file"},
    {"xsp compare all.xsp:onnxruntime all.xsp:openvino --kind layer", "two of its experiments, layer by layer"},
    {"xsp compare before.xsp after.xsp -o difference.html", "on a page, with the differential flame graph"},
    {"xsp compare nightly/*.xsp", "the latency over time, and where it changed"},
    {"xsp compare a.xsp b.xsp --to folded -o - | flamegraph.pl >difference.svg",
     "a flame graph of b, red where slower"},
    {0},
};

const struct verb verb_compare = {
    .name = "compare",
    .summary = "compare two files, folders or experiments, with a verdict",
    .synopsis = "A B|FILE... [OPTION...]",
    .description =
        "Prints what differs between the systems and software of a and b, whether b is slower, and the models, layers "
        "and kernels that both have, those with the largest differences first. Percentages are of a's time.\n\n"
        "A side is a file, a folder of .xsp files, or FILE:EXPERIMENT, by id, else by name or framework. Runs of one "
        "model in one version of a framework are pooled. Layers pair by name, else by operator and shape: two "
        "frameworks, or fused operators against single ones, compare as well.\n\n"
        "  slower          the 95 % interval of the difference is above --threshold\n"
        "  faster          it is below its negative\n"
        "  same            else: it is within --same-within\n"
        "  not decided     else, or there is drift; observations_needed would probably decide\n"
        "  not comparable  other batch sizes or levels, or a's time is 0\n\n"
        "Three or more files, or --history, are a history of one model: its latency in order of creation, where it "
        "changed, and a verdict on the last change.\n\n"
        "The status is 0 where b is the same, faster, or it is not decided; 1 where it is slower; 2 where the input is "
        "not usable. See docs/compare.md.",
    .least_arguments = 1,
    .most_arguments = SIZE_MAX,
    .options = options,
    .is_reader = true,
    .examples = examples,
    .see_also = "analyze, profile, export",
    .run = run,
};
