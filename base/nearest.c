// SPDX-License-Identifier: Apache-2.0
// Edit distance with transpositions between short words. Used by option parsing and by main. Pure.
#include "base/nearest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAXIMUM 40

static size_t least(size_t a, size_t b)
{
  return a < b ? a : b;
}

// Optimal string alignment distance; words longer than the maximum are as far as can be.
static size_t distance_of(const char *a, const char *b)
{
  size_t a_length = strlen(a), b_length = strlen(b);
  if (a_length > WORD_MAXIMUM || b_length > WORD_MAXIMUM)
    return WORD_MAXIMUM;
  size_t rows[3][WORD_MAXIMUM + 1];
  for (size_t j = 0; j <= b_length; j++)
    rows[0][j] = j;
  for (size_t i = 1; i <= a_length; i++) {
    size_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *two_before = rows[(i + 1) % 3];
    now[0] = i;
    for (size_t j = 1; j <= b_length; j++) {
      now[j] = least(least(before[j] + 1, now[j - 1] + 1), before[j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = least(now[j], two_before[j - 2] + 1);
    }
  }
  return rows[a_length % 3][b_length];
}

void nearest_start(struct nearest *nearest, const char *word)
{
  size_t length = strlen(word); // two letters of three may be any
  *nearest = (struct nearest){.word = word, .distance = length < 4 ? 2 : least(length / 3 + 2, WORD_MAXIMUM)};
}

void nearest_offer(struct nearest *nearest, const char *candidate)
{
  size_t length = strlen(nearest->word);
  size_t distance = distance_of(nearest->word, candidate);
  if (length >= 2 && strncmp(nearest->word, candidate, length) == 0)
    distance = least(distance, 1); // an abbreviation is nearly right
  bool begins_alike = nearest->best != NULL && nearest->best[0] != *nearest->word && candidate[0] == *nearest->word;
  if (distance < nearest->distance || (distance == nearest->distance && begins_alike)) {
    nearest->distance = distance;
    nearest->best = candidate;
  }
}

void nearest_advice(const struct nearest *nearest, const char *prefix, const char *otherwise, char *ret_text,
                    size_t size)
{
  if (nearest->best != NULL)
    snprintf(ret_text, size, "%s%s, or %s", prefix, nearest->best, otherwise);
  else
    snprintf(ret_text, size, "%s", otherwise);
}
