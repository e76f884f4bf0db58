// SPDX-License-Identifier: Apache-2.0
// Parses a verb's arguments by its option table. Called by main; the getters by the verbs. Prints nothing.
#include "base/memory.h"
#include "base/nearest.h"
#include "base/slice.h"
#include "programs/xsp/verb.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct option_description reader_options[] = {
    {"format", 0, "text|markdown|csv|json", "text", 0,
     "How to print. Text scales units for reading and fits the terminal's width; csv and "
     "json are exact."},
    {"json", 0, NULL, NULL, 0, "Short for --format json."},
    {"raw", 0, NULL, NULL, 0,
     "In csv: texts as recorded. Without it, a text that a spreadsheet would take for a formula gets a ' in front of "
     "it, and control characters are escaped."},
    {0},
};
static const struct option_description shared_options[] = {
    {"quiet", 'q', NULL, NULL, 0, "No progress, summaries or notes of what was done on stderr."},
    {"help", 'h', NULL, NULL, 0, "Show this help."},
    {"version", 'V', NULL, NULL, 0, "Print the version, as `xsp version` does."},
    {0},
};

const struct option_description *verb_option_at(const struct verb *verb, size_t index)
{
  const struct option_description *tables[] = {verb->options, verb->is_reader ? reader_options : NULL, shared_options};
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
    for (const struct option_description *option = tables[i]; option != NULL && option->name != NULL; option++)
      if (index-- == 0)
        return option;
  return NULL;
}

static const struct option_description *find_option(const struct verb *verb, const char *name, size_t length)
{
  const struct option_description *option;
  for (size_t i = 0; (option = verb_option_at(verb, i)) != NULL; i++)
    if (strlen(option->name) == length && memcmp(option->name, name, length) == 0)
      return option;
  return NULL;
}

// Names that options had in earlier versions; still taken, not listed.
static const struct option_description *find_renamed(const struct verb *verb, const char *name, size_t length)
{
  static const struct {
    const char *old_name, *name;
  } renamed[] = {{"limit", "top"}, {"format", "from"}, {"items", "count"}};
  for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
    if (strlen(renamed[i].old_name) == length && memcmp(renamed[i].old_name, name, length) == 0)
      return find_option(verb, renamed[i].name, strlen(renamed[i].name));
  return NULL;
}

static const struct option_description *find_letter(const struct verb *verb, char letter)
{
  const struct option_description *option;
  for (size_t i = 0; (option = verb_option_at(verb, i)) != NULL; i++)
    if (option->letter == letter)
      return option;
  return NULL;
}

static enum status unknown_option(const struct verb *verb, const char *text, size_t name_length, struct error *err)
{
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)(name_length < sizeof name ? name_length : sizeof name - 1), text);
  struct nearest nearest;
  nearest_start(&nearest, name + strspn(name, "-"));
  const struct option_description *option;
  for (size_t i = 0; (option = verb_option_at(verb, i)) != NULL; i++)
    nearest_offer(&nearest, option->name);
  char help[32], advice[160];
  snprintf(help, sizeof help, "`xsp help %s`", verb->name);
  nearest_advice(&nearest, "--", help, advice, sizeof advice);
  return error_set(err, STATUS_USE, "wrong use", name, advice, "`xsp %s` has no such option", verb->name);
}

bool option_has_words(const struct option_description *option)
{
  return option->value_name != NULL && islower((unsigned char)option->value_name[0]);
}

enum status option_refused(const char *name, const char *value, const char *advice, const char *why, struct error *err)
{
  char where[160];
  snprintf(where, sizeof where, "--%s%s%s", name, value != NULL ? "=" : "", value != NULL ? value : "");
  return error_set(err, STATUS_USE, "wrong use", where, advice, "%s", why);
}

static enum status wrong_value(const struct invocation *invocation, const struct option_description *option,
                               const char *value, const char *why, struct error *err)
{
  char advice[160];
  snprintf(advice, sizeof advice, "--%s=%s, or `xsp help %s`", option->name, option->value_name,
           invocation->verb->name);
  return option_refused(option->name, value, advice, why, err);
}

// The option's words are named, the nearest first.
static enum status wrong_word(const struct invocation *invocation, const struct option_description *option,
                              const char *value, struct error *err)
{
  char words[256], advice[256];
  struct nearest nearest;
  nearest_start(&nearest, value);
  snprintf(words, sizeof words, "%s", option->value_name);
  for (char *rest = words, *word; (word = strsep(&rest, "|")) != NULL;)
    nearest_offer(&nearest, word);
  if (nearest.best == NULL)
    return wrong_value(invocation, option, value, "its value is none of these", err);
  snprintf(advice, sizeof advice, "--%s=%s, or another of %s", option->name, nearest.best, option->value_name);
  return option_refused(option->name, value, advice, "it has no such value", err);
}

// An option of texts[*at] with its value: what is attached to it, else the next text.
static enum status add_option(struct invocation *invocation, const struct option_description *option,
                              const char *attached, int count, char **texts, int *at, struct error *err)
{
  const char *value = NULL;
  if (option->value_name != NULL) {
    value = attached != NULL ? attached : *at + 1 < count ? texts[++*at] : NULL;
    if (value == NULL)
      return wrong_value(invocation, option, NULL, "its value is missing", err);
    if (option_has_words(option) && !text_is_listed(value, option->value_name, '|'))
      return wrong_word(invocation, option, value, err);
  }
  invocation->options[invocation->option_count++] =
      (struct invocation_option){option, value, invocation->argument_count};
  return STATUS_OK;
}

// texts[*at] is `--name`, `--name=value` or `--name value`.
static enum status parse_long(struct invocation *invocation, int count, char **texts, int *at, struct error *err)
{
  const char *text = texts[*at];
  size_t length = strcspn(text, "=");
  const char *attached = text[length] == '=' ? text + length + 1 : NULL;
  const struct option_description *option = find_option(invocation->verb, text + 2, length - 2);
  if (option == NULL)
    option = find_renamed(invocation->verb, text + 2, length - 2);
  if (option == NULL)
    return unknown_option(invocation->verb, text, length, err);
  if (option->value_name == NULL && attached != NULL)
    return error_set(err, STATUS_USE, "wrong use", text, NULL, "--%s takes no value", option->name);
  return add_option(invocation, option, attached, count, texts, at, err);
}

// texts[*at] is `-x`, `-xVALUE` or `-x VALUE`; flags may be joined.
static enum status parse_short(struct invocation *invocation, int count, char **texts, int *at, struct error *err)
{
  const char *text = texts[*at];
  for (const char *letter = text + 1; *letter != 0; letter++) {
    const struct option_description *option = find_letter(invocation->verb, *letter);
    if (option == NULL)
      return unknown_option(invocation->verb, text, strlen(text), err);
    XSP_TRY(add_option(invocation, option, letter[1] != 0 ? letter + 1 : NULL, count, texts, at, err));
    if (option->value_name != NULL)
      return STATUS_OK;
  }
  return STATUS_OK;
}

static enum status check_argument_count(const struct invocation *invocation, struct error *err)
{
  const struct verb *verb = invocation->verb;
  char advice[256];
  snprintf(advice, sizeof advice, "xsp %s %s", verb->name, verb->synopsis);
  if (invocation->argument_count < verb->least_arguments)
    return error_set(err, STATUS_USE, "wrong use", verb->name, advice, "%s",
                     invocation->argument_count == 0 ? "its arguments are missing" : "an argument is missing");
  if (invocation->argument_count > verb->most_arguments)
    return error_set(err, STATUS_USE, "wrong use", invocation->arguments[verb->most_arguments], advice,
                     "`xsp %s` takes no such argument", verb->name);
  return STATUS_OK;
}

enum status invocation_parse(const struct verb *verb, int count, char **texts, struct invocation *ret_invocation,
                             struct error *err)
{
  *ret_invocation = (struct invocation){.verb = verb};
  size_t letters = 1;
  for (int i = 0; i < count; i++)
    letters += strlen(texts[i]) + 1; // an upper bound of options: joined letters
  ret_invocation->arguments = memory_new((size_t)count + 1, sizeof *ret_invocation->arguments);
  ret_invocation->options = memory_new(letters, sizeof *ret_invocation->options);
  bool options_over = false;
  for (int i = 0; i < count; i++) {
    const char *text = texts[i];
    if (options_over || text[0] != '-' || text[1] == 0) {
      ret_invocation->arguments[ret_invocation->argument_count++] = text;
      options_over = options_over || verb->takes_command;
    } else if (strcmp(text, "--") == 0) {
      options_over = true;
    } else if (text[1] == '-') {
      XSP_TRY(parse_long(ret_invocation, count, texts, &i, err));
    } else {
      XSP_TRY(parse_short(ret_invocation, count, texts, &i, err));
    }
  }
  // --version CONSTRAINT was an option of verbs that choose models.
  if (invocation_has(ret_invocation, "version") && ret_invocation->argument_count > 0 &&
      find_option(verb, "model-version", strlen("model-version")) != NULL)
    return option_refused("version", NULL, "--model-version=CONSTRAINT for the versions of a model",
                          "it prints the version of xsp, and takes no arguments", err);
  if (invocation_has(ret_invocation, "help") || invocation_has(ret_invocation, "version"))
    return STATUS_OK;
  return check_argument_count(ret_invocation, err);
}

void invocation_done(struct invocation *invocation)
{
  free(invocation->arguments);
  free(invocation->options);
  *invocation = (struct invocation){0};
}

bool invocation_has(const struct invocation *invocation, const char *name)
{
  for (size_t i = 0; i < invocation->option_count; i++)
    if (strcmp(invocation->options[i].description->name, name) == 0)
      return true;
  return false;
}

const char *invocation_value(const struct invocation *invocation, const char *name)
{
  for (size_t i = invocation->option_count; i > 0; i--)
    if (strcmp(invocation->options[i - 1].description->name, name) == 0)
      return invocation->options[i - 1].value;
  const struct option_description *option = find_option(invocation->verb, name, strlen(name));
  return option != NULL ? option->default_value : NULL;
}

const char *invocation_flagged(const struct invocation *invocation, enum option_flag flag)
{
  for (size_t i = 0; i < invocation->option_count; i++)
    if (invocation->options[i].description->flags & flag)
      return invocation->options[i].description->name;
  return NULL;
}

const char *invocation_value_at(const struct invocation *invocation, const char *name, size_t index)
{
  for (size_t i = 0; i < invocation->option_count; i++)
    if (strcmp(invocation->options[i].description->name, name) == 0 && index-- == 0)
      return invocation->options[i].value;
  return NULL;
}

enum status invocation_refuse_input(const struct invocation *invocation, const char *output, struct error *err)
{
  struct stat there, input;
  if (stat(output, &there) != 0)
    return STATUS_OK;
  for (size_t i = 0; i < invocation->argument_count; i++)
    if (stat(invocation->arguments[i], &input) == 0 && input.st_dev == there.st_dev && input.st_ino == there.st_ino)
      return error_set(err, STATUS_USE, "wrong use", output, "another name after -o", "it is one of the inputs");
  return STATUS_OK;
}

const char *option_value_of(const char *text, const char *name)
{
  size_t length = strlen(name);
  return strncmp(text, name, length) == 0 && text[length] == '=' ? text + length + 1 : NULL;
}

const char *invocation_library(const struct invocation *invocation, const char *name)
{
  const char *last = NULL, *text;
  for (size_t i = 0; (text = invocation_value_at(invocation, "library", i)) != NULL; i++)
    if (option_value_of(text, name) != NULL)
      last = option_value_of(text, name);
  return last;
}
