// SPDX-License-Identifier: Apache-2.0
// KEY=VALUE,KEY=VALUE; a list of activities has '+' between them.
#include "tracers/cuda/choice.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define INTERVAL_US_LEAST 10u
#define INTERVAL_US_MOST 1000000u

struct word {
  const char *name;
  uint32_t value;
};
static const struct word calls[] = {{"some", CUDA_CALLS_SOME}, {"all", CUDA_CALLS_ALL}, {"none", CUDA_CALLS_NONE}, {0}};
static const struct word activities[] = {{"kernel", CUDA_KERNEL}, {"memcpy", CUDA_MEMCPY}, {"memset", CUDA_MEMSET},
                                         {"sync", CUDA_SYNC},     {"memory", CUDA_MEMORY}, {0}};

static const struct word collects[] = {{"kernel", CUDA_COLLECT_KERNEL},
                                       {"application", CUDA_COLLECT_APPLICATION},
                                       {"sampling", CUDA_COLLECT_SAMPLING},
                                       {0}};
static const struct word samples[] = {
    {"continuous", CUDA_SAMPLES_CONTINUOUS}, {"serialized", CUDA_SAMPLES_SERIALIZED}, {0}};

static const struct word *find(const struct word *words, const char *text, size_t length)
{
  for (; words->name != NULL; words++)
    if (strlen(words->name) == length && memcmp(words->name, text, length) == 0)
      return words;
  return NULL;
}

static bool parse_calls(const char *text, size_t length, struct cuda_choice *choice)
{
  const struct word *found = find(calls, text, length);
  if (found != NULL)
    choice->calls = (enum cuda_calls)found->value;
  return found != NULL;
}

static bool parse_activities(const char *text, size_t length, struct cuda_choice *choice)
{
  const char *end = text + length;
  choice->activities = 0;
  for (;;) {
    const char *plus = memchr(text, '+', (size_t)(end - text)), *stop = plus != NULL ? plus : end;
    const struct word *found = find(activities, text, (size_t)(stop - text));
    if (found == NULL)
      return false;
    choice->activities |= found->value;
    if (plus == NULL)
      return true;
    text = plus + 1;
  }
}

// Which names there are depends on the chip.
static bool parse_metrics(const char *text, size_t length, struct cuda_choice *choice)
{
  size_t names = 1, begin = 0;
  for (size_t i = 0; i <= length; i++) {
    bool ends = i == length || text[i] == '+';
    bool is_of_name = !ends && (isalnum((unsigned char)text[i]) || text[i] == '_' || text[i] == '.');
    if ((ends && (i == begin || i - begin > CUDA_METRIC_NAME_MOST)) || (!ends && !is_of_name))
      return false;
    names += ends && i < length;
    begin = ends ? i + 1 : begin;
  }
  choice->metrics = text;
  choice->metrics_length = length;
  choice->wants_metrics = true;
  return names <= CUDA_METRICS_MOST;
}

static bool parse_collect(const char *text, size_t length, struct cuda_choice *choice)
{
  const struct word *found = find(collects, text, length);
  if (found != NULL)
    choice->collect = (enum cuda_collect)found->value;
  choice->wants_metrics = true;
  return found != NULL;
}

static bool parse_interval(const char *text, size_t length, struct cuda_choice *choice)
{
  choice->interval_us = 0;
  for (size_t i = 0; i < length; i++) {
    if (text[i] < '0' || text[i] > '9' || choice->interval_us > INTERVAL_US_MOST)
      return false;
    choice->interval_us = choice->interval_us * 10 + (uint32_t)(text[i] - '0');
  }
  return choice->interval_us >= INTERVAL_US_LEAST && choice->interval_us <= INTERVAL_US_MOST;
}

static bool parse_samples(const char *text, size_t length, struct cuda_choice *choice)
{
  const struct word *found = find(samples, text, length);
  if (found != NULL)
    choice->samples = (enum cuda_samples)found->value;
  return found != NULL;
}

static const struct key {
  const char *name;
  bool (*parse)(const char *text, size_t length, struct cuda_choice *choice);
  const char *values;
} keys[] = {
    {"api=", parse_calls, "some, all or none"},
    {"activities=", parse_activities, "of kernel, memcpy, memset, sync, memory, with + between them"},
    {"metrics=", parse_metrics, "xsp, and at most 64 names of CUPTI's metrics, with + between them"},
    {"collect=", parse_collect, "kernel, application or sampling"},
    {"interval_us=", parse_interval, "10 to 1000000, microseconds between two samples"},
    {"samples=", parse_samples, "continuous or serialized"},
    {0},
};

bool cuda_choice_parse(const char *text, struct cuda_choice *ret_choice, char *why, size_t why_size)
{
  *ret_choice = (struct cuda_choice){.activities = CUDA_KERNEL | CUDA_MEMCPY | CUDA_MEMSET | CUDA_SYNC | CUDA_MEMORY,
                                     .interval_us = 100};
  while (text != NULL) {
    size_t length = strcspn(text, ",");
    int shown = length < 60 ? (int)length : 60;
    const struct key *key = keys;
    while (key->name != NULL && strncmp(text, key->name, strlen(key->name)) != 0)
      key++;
    if (key->name == NULL) {
      snprintf(why, why_size, "'%.*s' is none of api=…, activities=…, metrics=…, collect=…, interval_us=…, samples=…",
               shown, text);
      return false;
    }
    size_t begin = strlen(key->name);
    if (!key->parse(text + begin, length - begin, ret_choice)) {
      snprintf(why, why_size, "'%.*s': it may be %s", shown, text, key->values);
      return false;
    }
    text = text[length] == ',' ? text + length + 1 : NULL;
  }
  return true;
}
