// SPDX-License-Identifier: Apache-2.0
// Reads the program's source. Called by F2, F29, F34, F62 to F64, F67 to F69 and the first sentence. The name comes from a trace: only a
// regular file *.py is read, only where the trace was recorded on this machine, and only if the request allows it, which a server's never
// does.
#include "analyze/findings/source_line.h"

#include "analyze/findings/statements.h"
#include "base/clock.h"
#include "base/input_file.h"
#include "base/slice.h"

#define FILE_BYTES_MOST ((size_t)512 << 10)

bool findings_source(struct findings *findings, const char *file, struct buf *ret_text)
{
  const struct question *question = findings->question;
  const struct store_experiment *experiment = question->view->experiment;
  struct error err;
  struct stat facts;
  bool is_here;
  buf_init(ret_text, FILE_BYTES_MOST);
  return question->request->reads_source && file != NULL && file[0] == '/' && text_ends_with(file, ".py") &&
         stat(file, &facts) == 0 && clock_ns_of(facts.st_mtim) <= experiment->created_ns &&
         analyze_is_here(question->view->store, experiment->system_id, question->scratch, &is_here, &err) ==
             STATUS_OK &&
         is_here && input_file_read(file, "cannot read the source", ret_text, NULL) == STATUS_OK &&
         ret_text->length > 0;
}

const char *findings_source_line(struct findings *findings, const char *file, int64_t line)
{
  struct buf text SCOPED(buf_done) = {0};
  if (!findings_source(findings, file, &text))
    return NULL;
  struct slice rest = {text.data, text.length}, found = {NULL, 0};
  while (line-- > 0)
    slice_cut(&rest, '\n', &found);
  found = slice_trim(found);
  return found.length > 0 ? findings_name(findings, arena_copy(findings->question->arena, found.data, found.length))
                          : NULL;
}

#define NAMES_MOST 4

static const struct setting {
  const char *key,
      *value; // value: the text that it has; NULL: any but off, and only a call of a trainer is not the line to change
  const char *names[NAMES_MOST];
} settings[] = {
    {"padding", "max_length", {"padding"}},
    {"eager_keras", NULL, {"run_eagerly", "run_functions_eagerly"}},
    {"checkpoint", NULL, {"save_steps", "save_freq", "every_n_train_steps"}},
    {"logging", NULL, {"logging_steps", "log_every_n_steps"}},
    {"frequent_evaluation", NULL, {"eval_steps", "val_check_interval"}},
    {"recomputation",
     NULL,
     {"gradient_checkpointing", "gradient_checkpointing_enable", "activation_checkpointing",
      "apply_activation_checkpointing"}},
};

static bool is_asked_for(const struct setting *setting, struct slice value)
{
  if (setting->value == NULL)
    return !slice_starts_with(value, "False") && !slice_starts_with(value, "None");
  bool is_text = slice_starts_with(value, "\"") || slice_starts_with(value, "'");
  size_t length = strlen(setting->value);
  return is_text && slice_starts_with(slice_after(value, 1), setting->value) && value.length > length + 1 &&
         value.data[length + 1] == value.data[0];
}

// The first line of the statement that asks for it; 0: none.
static int64_t line_within(const struct setting *setting, const char *name, struct statement of, int64_t after)
{
  struct slice value;
  int64_t line = of.first;
  size_t seen = 0;
  for (size_t at = 0; (at = findings_setting_at(of.text, at, slice_of(name), &value)) < of.text.length; at++) {
    for (; seen < at; seen++)
      line += of.text.data[seen] == '\n';
    if (line > after && is_asked_for(setting, value))
      return line;
  }
  return 0;
}

// 0: none, or several.
static int64_t setting_line(const struct setting *setting, struct slice source)
{
  int64_t found = 0;
  for (struct statement at = {.after = source}; findings_next_statement(&at);)
    for (size_t i = 0; i < NAMES_MOST && setting->names[i] != NULL; i++)
      for (int64_t line = 0; (line = line_within(setting, setting->names[i], at, line)) != 0;) {
        if (found != 0 && found != line)
          return 0;
        found = line;
      }
  return found;
}

void finding_at_setting(struct findings *findings, struct finding *finding, const char *key)
{
  struct buf source SCOPED(buf_done) = {0};
  struct statement call;
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
    if (strcmp(settings[i].key, key) != 0 || !findings_source(findings, finding->file, &source))
      continue;
    struct slice text = {source.data, source.length};
    int64_t line = setting_line(&settings[i], text);
    bool is_trainers = findings_statement_at(text, finding->line, &call) &&
                       (slice_contains(call.text, ".fit(") || slice_contains(call.text, ".train("));
    if (line == 0 || line == finding->line || (settings[i].value == NULL && !is_trainers))
      continue;
    finding->title =
        arena_format(findings->question->arena, "%s; called at line %lld", finding->title, (long long)finding->line);
    finding->line = line;
  }
}
