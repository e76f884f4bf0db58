// SPDX-License-Identifier: Apache-2.0
// Random bytes as a list of functions: every rule is inside the text and fits the grammar, an error names a line of the
// text. Patterns are tried on the names themselves.
#include "tracers/functions/list.h"

#include <xsp/span.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int truth)
{
  if (!truth)
    abort();
}

static void demand_within(const char *word, const char *text, size_t size)
{
  demand(word == NULL || (word >= text && word + strlen(word) <= text + size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size > FUNCTIONS_LIST_BYTES_MOST)
    return 0;
  static struct function_rule rules[FUNCTIONS_RULES_MOST];
  char *text = malloc(size + 1);
  if (text == NULL)
    return 0;
  uint32_t lines = 1, count;
  for (size_t i = 0; i < size; i++) {
    text[i] = (char)data[i];
    lines += data[i] == '\n';
  }
  struct functions_fault fault = {0};
  bool fine = functions_list_parse(text, size, rules, &count, &fault);
  demand(count <= FUNCTIONS_RULES_MOST);
  demand(fine || (fault.what != NULL && fault.line >= 1 && fault.line <= lines));
  demand(memchr(fault.word, '\0', sizeof fault.word) != NULL);
  for (uint32_t i = 0; i < count; i++) {
    const struct function_rule *rule = &rules[i];
    demand_within(rule->name, text, size);
    demand_within(rule->library, text, size);
    demand_within(rule->as, text, size);
    demand(rule->parameter_count <= FUNCTIONS_PARAMETERS_MOST && rule->result <= FUNCTIONS_DOUBLE);
    for (uint32_t k = 0; k < rule->parameter_count; k++) {
      demand_within(rule->parameters[k].name, text, size);
      demand(rule->parameters[k].type > FUNCTIONS_NO_TYPE && rule->parameters[k].type <= FUNCTIONS_DOUBLE);
    }
    demand(rule->name[0] != '\0' && rule->level < XSP_LEVEL_COUNT && rule->stack_bytes <= FUNCTIONS_STACK_MOST);
    demand(rule->stack_bytes % 8 == 0 && rule->line >= 1 && rule->line <= lines);
    demand(rule->is_pattern || functions_refusal(rule->name) == NULL);
    if (strlen(rule->name) < 256)
      demand(functions_glob(rule->name, rule->name) || strchr(rule->name, '?') != NULL);
  }
  free(text);
  return 0;
}
