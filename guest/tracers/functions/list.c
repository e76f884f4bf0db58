// SPDX-License-Identifier: Apache-2.0
// Reads the list of functions, in place. Runs in three places: in xsp before the program starts (where errors are reported),
// in the loader's audit module, and in tests. No libc: see list.h.
#include "tracers/functions/list.h"

#include <xsp/span.h>

#define PATTERN_OWN_LEAST 3 // characters of a name that are no wildcard
#define PATTERN_STARS_MOST 8

bool functions_same(const char *a, const char *b)
{
  while (*a != '\0' && *a == *b)
    a++, b++;
  return *a == *b;
}

// Two pointers and the place of the last star: linear in practice, at worst the product of the lengths.
bool functions_glob(const char *pattern, const char *text)
{
  const char *star = NULL, *retry = NULL;
  while (*text != '\0') {
    if (*pattern == '*') {
      star = ++pattern;
      retry = text;
    } else if (*pattern == '?' || *pattern == *text) {
      pattern++;
      text++;
    } else if (star != NULL) {
      pattern = star;
      text = ++retry;
    } else {
      return false;
    }
  }
  while (*pattern == '*')
    pattern++;
  return *pattern == '\0';
}

// ---- what is never traced: a call through another frame is not the same call for these
static const struct {
  const char *why;
  const char *names[9]; // patterns; NULL ends them
} refusals[] = {
    {"cannot be traced: it returns twice",
     {"setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", "savectx", "getcontext", "vfork", "__vfork"}},
    {"cannot be traced: its child returns on another stack", {"clone", "__clone", "clone3"}},
    {"cannot be traced: its child writes into the records of its parent", {"_Fork"}}, // runs no handlers
    {"cannot be traced: some system calls return twice", {"syscall"}},
    {"cannot be traced: it depends on who calls it", {"dlopen", "dlmopen", "dlsym", "dlvsym"}},
    {"cannot be traced: it belongs to the loader", {"_dl_*", "__tls_get_addr*"}},
    {"cannot be traced: it belongs to the C library's start", {"__libc_*"}},
    {"cannot be traced: it unwinds the stack of who calls it", {"_Unwind_*"}},
    {"cannot be traced: compilers call it in a way of their own", {"mcount", "_mcount", "__fentry__", "__morestack*"}},
    {"cannot be traced: it asks who calls it", {"__cyg_profile_func_*"}},
    {"cannot be traced: it is no function to be called by name", {"_init", "_fini", "_start"}},
    {"cannot be traced: it belongs to xsp", {"xsp_*"}},
};

const char *functions_refusal(const char *name)
{
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
    for (const char *const *pattern = refusals[i].names; *pattern != NULL; pattern++)
      if (functions_glob(*pattern, name))
        return refusals[i].why;
  return NULL;
}

// ---- words of a line
struct line {
  char *at, *end; // *end is '\0'
  uint32_t number;
  struct functions_fault *fault;
};

static bool fail(const struct line *line, const char *what, const char *word)
{
  struct functions_fault *fault = line->fault;
  fault->line = line->number;
  fault->what = what;
  size_t i = 0;
  for (; word != NULL && word[i] != '\0' && i + 1 < sizeof fault->word; i++)
    fault->word[i] = word[i];
  fault->word[i] = '\0';
  return false;
}

static bool is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r';
}

// The next word, NUL-terminated in place; NULL at the end of the line or at a comment. Blanks in quotes and in brackets are
// part of it.
static char *next_word(struct line *line, bool *ret_unclosed)
{
  *ret_unclosed = false;
  while (is_blank(*line->at))
    line->at++;
  if (line->at == line->end || *line->at == '#')
    return NULL;
  char *word = line->at;
  if (*word == '"') {
    char *close = ++word;
    while (close < line->end && *close != '"')
      close++;
    *ret_unclosed = close == line->end || !(close + 1 == line->end || is_blank(close[1]));
    line->at = close == line->end ? close : close + 1;
    *close = '\0';
    return word;
  }
  bool is_bracketed = false;
  for (; line->at < line->end && (is_bracketed || !is_blank(*line->at)); line->at++)
    is_bracketed = *line->at == '(' || (is_bracketed && *line->at != ')');
  *ret_unclosed = is_bracketed;
  if (line->at < line->end)
    *line->at++ = '\0';
  return word;
}

static bool read_level(const char *word, uint8_t *ret_level)
{
  static const char *const names[XSP_LEVEL_COUNT] = {XSP_LEVEL_NAMES};
  for (uint8_t level = 0; level < XSP_LEVEL_COUNT; level++)
    if (functions_same(word, names[level])) {
      *ret_level = level;
      return true;
    }
  return false;
}

static bool read_bytes(const char *word, uint16_t *ret_bytes)
{
  uint32_t value = 0;
  if (*word == '\0')
    return false;
  for (; *word != '\0'; word++) {
    if (*word < '0' || *word > '9' || value > FUNCTIONS_STACK_MOST)
      return false;
    value = value * 10 + (uint32_t)(*word - '0');
  }
  if (value > FUNCTIONS_STACK_MOST || value % 8 != 0)
    return false;
  *ret_bytes = (uint16_t)value;
  return true;
}

// ---- "(TYPE NAME, TYPE NAME)"
static const char no_type[] = "is no type; there are int, uint, long, ulong, pointer, text, float, double";

static uint8_t type_of(const char *word)
{
  static const char *const names[] = {FUNCTIONS_TYPE_NAMES};
  for (uint8_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (functions_same(word, names[i]))
      return (uint8_t)(FUNCTIONS_INT + i);
  return FUNCTIONS_NO_TYPE;
}

static char *skip_blanks(char *at)
{
  while (is_blank(*at))
    at++;
  return at;
}

static bool is_of_word(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// "TYPE NAME"
static bool read_parameter(struct line *line, char *text, struct function_rule *rule)
{
  if (rule->parameter_count == FUNCTIONS_PARAMETERS_MOST)
    return fail(line, "has more than 12 arguments", rule->name);
  struct function_parameter *parameter = &rule->parameters[rule->parameter_count++];
  char *type = skip_blanks(text), *type_end = type;
  while (is_of_word(*type_end))
    type_end++;
  char *name = skip_blanks(type_end), *name_end = name;
  while (is_of_word(*name_end))
    name_end++;
  if (name == type_end || name == name_end || *skip_blanks(name_end) != '\0')
    return fail(line, "has an argument that is not written TYPE NAME", rule->name);
  *type_end = *name_end = '\0';
  *parameter = (struct function_parameter){name, type_of(type)};
  return parameter->type != FUNCTIONS_NO_TYPE || fail(line, no_type, type);
}

// From behind the '(' on.
static bool read_parameters(struct line *line, char *at, struct function_rule *rule)
{
  char *close = at;
  while (*close != '\0' && *close != ')')
    close++;
  if (*close == '\0' || close[1] != '\0')
    return fail(line, "has arguments that do not end with ')'", rule->name);
  *close = '\0';
  bool is_last = *skip_blanks(at) == '\0';
  while (!is_last) {
    char *end = at;
    while (*end != '\0' && *end != ',')
      end++;
    is_last = end == close;
    *end = '\0';
    if (!read_parameter(line, at, rule))
      return false;
    at = end + 1;
  }
  return true;
}

// ---- "LIBRARY:NAME"
static bool read_function(struct line *line, char *word, struct function_rule *rule)
{
  char *colon = NULL, *arguments = NULL;
  for (char *at = word; *at != '\0' && arguments == NULL; at++)
    if (*at == '(') {
      *at = '\0';
      arguments = at + 1;
    }
  for (char *at = word; *at != '\0'; at++)
    if (*at == ':')
      colon = at; // the last: a path may have one, a symbol has none
  if (colon == word)
    return fail(line, "has no library before its ':'", word);
  if (colon != NULL && colon[1] == '\0')
    return fail(line, "has no function behind its ':'", word);
  if (colon != NULL)
    *colon = '\0';
  rule->library = colon == NULL ? NULL : word;
  rule->name = colon == NULL ? word : colon + 1;
  unsigned own = 0, stars = 0;
  for (const char *at = rule->name; *at != '\0'; at++) {
    unsigned char c = (unsigned char)*at;
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
    if (c == '*' || c == '?') {
      rule->is_pattern = true;
      stars += c == '*';
    } else if (letter || c == '_' || c == '.' || c == '$' || (c >= '0' && c <= '9' && (own > 0 || stars > 0))) {
      own++;
    } else {
      return fail(line, "is not the name of a function; C++ names are written as `nm -D` prints them", rule->name);
    }
  }
  if (own == 0 && !rule->is_pattern)
    return fail(line, "is not the name of a function: it is empty", rule->name);
  if (rule->is_pattern && own < PATTERN_OWN_LEAST)
    return fail(line, "matches too much: a pattern needs three characters that are no wildcard", rule->name);
  if (stars > PATTERN_STARS_MOST)
    return fail(line, "has too many '*'", rule->name);
  const char *why = rule->is_pattern ? NULL : functions_refusal(rule->name);
  if (why != NULL)
    return fail(line, why, rule->name);
  return arguments == NULL || read_parameters(line, arguments, rule);
}

// "-> TYPE", "as NAME", "level LEVEL", "stack BYTES", each once at most, in any order.
static bool read_options(struct line *line, struct function_rule *rule)
{
  bool unclosed, has_level = false, has_stack = false;
  for (char *key; (key = next_word(line, &unclosed)) != NULL;) {
    bool is_as = functions_same(key, "as"), is_level = functions_same(key, "level");
    bool is_stack = functions_same(key, "stack"), is_result = functions_same(key, "->");
    if (unclosed || !(is_as || is_level || is_stack || is_result))
      return fail(line, "is not known here: only -> TYPE, as NAME, level LEVEL and stack BYTES may follow", key);
    if ((is_as && rule->as != NULL) || (is_level && has_level) || (is_stack && has_stack) ||
        (is_result && rule->result != FUNCTIONS_NO_TYPE))
      return fail(line, "is there twice", key);
    char *value = next_word(line, &unclosed);
    if (value == NULL || *value == '\0')
      return fail(line, "has no value", key);
    if (unclosed)
      return fail(line, "has a quote that is not closed, or that goes on", value);
    if (is_as) {
      for (const char *at = value; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
          return fail(line, "has a control character", key);
      rule->as = value;
    } else if (is_level) {
      if (!read_level(value, &rule->level))
        return fail(line, "is no level; there are application, model, layer, library, kernel", value);
      has_level = true;
    } else if (is_result) {
      rule->result = type_of(value);
      if (rule->result == FUNCTIONS_NO_TYPE)
        return fail(line, no_type, value);
    } else {
      if (!read_bytes(value, &rule->stack_bytes))
        return fail(line, "is no number of bytes on the stack: a multiple of 8 up to 4096", value);
      has_stack = true;
    }
  }
  return true;
}

bool functions_list_parse(char *text, size_t length, struct function_rule rules[FUNCTIONS_RULES_MOST],
                          uint32_t *ret_count, struct functions_fault *ret_fault)
{
  *ret_count = 0;
  char *end = text + length;
  if (length >= 3 && (unsigned char)text[0] == 0xef && (unsigned char)text[1] == 0xbb && (unsigned char)text[2] == 0xbf)
    text += 3; // a byte order mark
  for (struct line line = {text, text, 0, ret_fault}; line.end < end || line.number == 0; line.at = line.end + 1) {
    line.number++;
    line.end = line.at;
    while (line.end < end && *line.end != '\n' && *line.end != '\0')
      line.end++;
    if (line.end < end && *line.end == '\0')
      return fail(&line, "there is a NUL byte: this is no text", NULL);
    *line.end = '\0';
    char *stop = line.end;
    bool unclosed;
    char *word = next_word(&line, &unclosed);
    if (word != NULL) {
      if (unclosed || *ret_count == FUNCTIONS_RULES_MOST)
        return fail(&line,
                    unclosed ? "has a quote or a bracket that is not closed, or that goes on"
                             : "there are more than 1,024 functions",
                    unclosed ? word : NULL);
      struct function_rule rule = {
          .line = line.number, .level = XSP_LEVEL_LIBRARY, .stack_bytes = FUNCTIONS_STACK_DEFAULT};
      if (!read_function(&line, word, &rule) || !read_options(&line, &rule))
        return false;
      rules[(*ret_count)++] = rule;
    }
    line.end = stop;
    if (line.end >= end)
      break;
  }
  return true;
}
