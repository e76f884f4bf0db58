// SPDX-License-Identifier: Apache-2.0
// F21, decoding without a cache: successive calls of a model have one position more each, so that each computes all earlier ones
// again. By the signatures of the calls: "input_ids=int64[1,128]", or of an encoder and a decoder "src=int64[1,64],tgt=int64[1,7]".
#include "analyze/findings/busiest_line.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DIMENSIONS_MOST 8

struct dimensions {
  int64_t sizes[DIMENSIONS_MOST];
  size_t count;
  bool are_of_ids; // of integers
};

// Of the next tensor of a signature, or of a part of one. False: it has none.
static bool read_dimensions(const char *text, struct dimensions *ret)
{
  const char *at = text != NULL ? strchr(text, '[') : NULL;
  const char *type = at;
  while (type != NULL && type > text && isalnum((unsigned char)type[-1]))
    type--;
  ret->are_of_ids = type != NULL && strchr("ius", *type) != NULL; // int64, uint8; s32 of XLA
  ret->count = 0;
  while (at != NULL && (*at == '[' || *at == ',') && ret->count < DIMENSIONS_MOST) {
    char *end;
    ret->sizes[ret->count] = strtoll(at + 1, &end, 10);
    if (end == at + 1 || ret->sizes[ret->count] < 0)
      return false;
    ret->count++;
    at = end;
  }
  return at != NULL && *at == ']' && ret->count > 1;
}

static bool are_equal(const struct dimensions *a, const struct dimensions *b)
{
  return a->count == b->count && memcmp(a->sizes, b->sizes, a->count * sizeof *a->sizes) == 0;
}

// The positions of `after`, if it is `before` with one position more; else 0.
static int64_t grown(const struct dimensions *before, const struct dimensions *after)
{
  size_t differ = 0, at = 0;
  for (size_t i = 0; i < after->count && before->count == after->count; i++)
    if (before->sizes[i] != after->sizes[i]) {
      differ++;
      at = i;
    }
  return differ == 1 && at > 0 && after->sizes[at] - 1 == before->sizes[at] ? after->sizes[at] : 0;
}

// Of the token ids of a decoder, after an encoder's input of several positions: a call with a cache has one. Masks and numbers of positions
// grow with a cache, too.
static bool read_decoder(const char *text, const struct dimensions *first, struct dimensions *ret)
{
  const char *end = text != NULL ? strchr(text, ']') : NULL;
  while (end != NULL && first->sizes[first->count - 1] > 1) {
    const char *start = end + 1, *type = strchr(start, '[');
    end = type != NULL ? strchr(type, ']') : NULL;
    if (end == NULL || !read_dimensions(start, ret) || !ret->are_of_ids)
      continue;
    static const char *const others[] = {"mask", "position", "cache", "length"};
    bool is_other = false;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
      const char *found = strstr(start, others[i]);
      is_other |= found != NULL && found < type;
    }
    if (!is_other)
      return true;
  }
  return false;
}

struct growing {                 // calls that have one position more than the one before
  double count, ms, needless_ms; // needless: all but what the last position takes, at equal time for each
  double of_ids;                 // of `count`
  int64_t least, most;
};

static void add_call(struct growing *growing, double ms, int64_t positions, bool is_of_ids)
{
  growing->count++;
  growing->of_ids += is_of_ids;
  growing->ms += ms;
  growing->needless_ms += ms * (1 - 1 / (double)positions);
  growing->least = positions < growing->least ? positions : growing->least;
  growing->most = positions > growing->most ? positions : growing->most;
}

// One generation after another: calls in a row that grow. Few in a row are batches of other lengths.
static void add_generation(struct growing *growing, const struct growing *generation, double least)
{
  if (generation->count < least)
    return;
  growing->count += generation->count;
  growing->of_ids += generation->of_ids;
  growing->ms += generation->ms;
  growing->needless_ms += generation->needless_ms;
  growing->least = generation->least < growing->least ? generation->least : growing->least;
  growing->most = generation->most > growing->most ? generation->most : growing->most;
}

static enum status add(struct findings *findings, const struct growing *growing, double observations, struct error *err)
{
  struct finding *finding = findings_add(findings);
  XSP_TRY(finding_at_call(findings, finding, err));
  finding->context = "decoding";
  finding->time_ms = growing->ms / observations;
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_ms = growing->needless_ms / observations;
  finding->saving_basis = "time of these calls, as if each computed its last position alone";
  finding->title = arena_format(
      findings->question->arena,
      "decoding has no cache: %.0f of %.0f calls of the model compute all positions again, up to %lld, for one "
      "new token each",
      growing->count, observations, (long long)growing->most);
  finding->advice = "keep the keys and values of earlier positions: use_cache=True of generate(), or past_key_values "
                    "from call to call; call an encoder once (encoder_outputs)";
  finding->confidence = growing->of_ids == growing->count ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM; // sorted batches
  finding_number(finding, "calls", growing->count);
  finding_number(finding, "positions_least", (double)growing->least);
  finding_number(finding, "positions_most", (double)growing->most);
  return STATUS_OK;
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  struct observed_text *calls;
  size_t count;
  struct growing growing = {.least = INT64_MAX}, generation = growing;
  double least = findings_threshold(findings, "no_cache-calls");
  struct dimensions before = {.count = 0}, dimensions, decoder_before = {.count = 0}, decoder;
  XSP_TRY(findings_places(findings, &places, err));
  XSP_TRY(findings_signatures(findings, &calls, &count, err));
  if (count == 0)
    return findings_lack(findings, err, "its observations have no signatures");
  for (size_t i = 0; i < count; i++) {
    bool has_any = read_dimensions(calls[i].text, &dimensions);
    bool has_decoder = has_any && read_decoder(calls[i].text, &dimensions, &decoder);
    int64_t positions = has_any && i > 0 ? grown(&before, &dimensions) : 0;
    bool is_decoders = positions == 0 && has_decoder && i > 0 && are_equal(&before, &dimensions);
    positions = is_decoders ? grown(&decoder_before, &decoder) : positions;
    if (positions == 0) {
      add_generation(&growing, &generation, least);
      generation = (struct growing){.least = INT64_MAX};
    } else
      add_call(&generation, calls[i].ms, positions, is_decoders || dimensions.are_of_ids);
    before = has_any ? dimensions : (struct dimensions){.count = 0};
    decoder_before = has_decoder ? decoder : (struct dimensions){.count = 0};
  }
  add_generation(&growing, &generation, least);
  if (growing.count > 0 &&
      analyze_share_pct(growing.count, (double)count) >= findings_threshold(findings, "no_cache-share"))
    return add(findings, &growing, (double)count, err);
  return STATUS_OK;
}

const struct finding_rule finding_f21 = {
    .id = "F21",
    .key = "no_cache",
    .title = "decoding without a cache",
    .thresholds = {{"no_cache-calls", "", 8, "calls in a row with one position more than the call before, at least"},
                   {"no_cache-share", "%", 50, "of all calls that these are, at least"}},
    .find = find,
};
