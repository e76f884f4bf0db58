// SPDX-License-Identifier: Apache-2.0
// F63, one-hot tensors: a line of the program makes a tensor that is zero but for one element a row, and this line or the next one that
// computes multiplies it by a table. An index reads the row without either. Masks, conditions and counts, which nothing multiplies so,
// are none. That a later line multiplies this tensor only the source shows.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/findings/source_line.h"
#include "analyze/findings/statements.h"
#include "analyze/flops/flops.h"
#include "base/slice.h"

#include <string.h>
#include <xsp/call_path.h>

struct one_hot {   // by place: a line of the program
  bool is_made;    // there
  uint32_t home;   // where it is made, also of later lines up to the product; PLACE_NONE
  double own_ns;   // of the tensor and its conversions
  double times_ns; // of products, forward and backward
};

static bool is_conversion(const char *name)
{
  return text_is_one_of(name, "aten::to", "aten::type_as", "aten::_to_copy");
}

// Called by the line itself, or by a module or function that only multiplies. At another line than the tensor's a module may have another
// input, such as a batch whose targets it is.
static bool is_called_by(const struct places *places, uint32_t place, uint32_t source, bool is_later)
{
  for (uint32_t at = places->all[place].parent; at != PLACE_NONE && at != source; at = places->all[at].parent)
    if (places->all[at].frame_kind == XSP_FRAME_PYTHON && !place_is_glue(&places->all[at]) &&
        !text_is_one_of(places->all[at].name, "einsum", "tensordot") &&
        (is_later || strcmp(places->all[at].name, "Linear.forward") != 0))
      return false;
  return true;
}

// Whether Python calls an operator that makes something else of its inputs than another type or view.
static bool computes(const struct places *places, uint32_t place)
{
  const struct place *at = &places->all[place];
  return at->frame_kind == XSP_FRAME_FRAMEWORK && at->parent != PLACE_NONE &&
         places->all[at->parent].frame_kind == XSP_FRAME_PYTHON && !findings_is_backward(at->name) &&
         strcmp(at->name, "aten::one_hot") != 0 && !is_conversion(at->name) && !flops_moves_nothing(at->name);
}

// The line itself, if it computes with the tensor, else the function's next one that computes; 0: there is none, or it may be the
// target of a loss.
static int64_t product_line(const struct places *places, const uint32_t *sources, uint32_t made)
{
  static const char *const losses[] = {"*loss*", "*cross_entropy*", "*log_softmax*"};
  const struct place *all = places->all;
  int64_t found = 0;
  bool has_loss = false;
  for (uint32_t i = 0; i < places->count; i++) {
    if (sources[i] == PLACE_NONE || all[sources[i]].function != all[made].function)
      continue;
    int64_t line = all[sources[i]].line;
    has_loss |= findings_name_matches(all[i].name, losses, sizeof losses / sizeof losses[0]);
    if (line >= all[made].line && (found == 0 || line < found) && computes(places, i))
      found = line;
  }
  return found > all[made].line && has_loss ? 0 : found;
}

// Whether the source assigns the tensor to a name, which the later line has.
static bool has_its_name(struct findings *findings, const struct place *made, int64_t line)
{
  struct buf source SCOPED(buf_done) = {0};
  if (!findings_source(findings, made->file, &source))
    return false;
  struct slice text = {source.data, source.length}, name, value;
  struct statement one_hot, product;
  return findings_statement_at(text, made->line, &one_hot) && findings_statement_at(text, line, &product) &&
         findings_assignment(one_hot.text, &name, &value) && findings_is_name(name) &&
         findings_has_name(product.text, name);
}

static void find_lines(struct findings *findings, const struct places *places, const uint32_t *sources,
                       struct one_hot *ret)
{
  const struct place *all = places->all;
  for (uint32_t i = 0; i < places->count; i++) {
    ret[i].home = PLACE_NONE;
    if (sources[i] != PLACE_NONE && strcmp(all[i].name, "aten::one_hot") == 0)
      ret[sources[i]].is_made = true;
  }
  for (uint32_t made = 0; made < places->count; made++) {
    int64_t last = ret[made].is_made ? product_line(places, sources, made) : 0;
    if (last > all[made].line && !has_its_name(findings, &all[made], last))
      continue;
    for (uint32_t i = 0; i < places->count && last != 0; i++)
      if (all[i].frame_kind == XSP_FRAME_PYTHON && all[i].function == all[made].function &&
          all[i].line > all[made].line && all[i].line <= last)
        ret[i].home = made;
  }
  for (uint32_t made = 0; made < places->count; made++)
    ret[made].home = ret[made].is_made ? made : ret[made].home;
}

static void sum(struct findings *findings, const struct places *places, const uint32_t *sources, struct one_hot *ret)
{
  enum part { PART_NONE, PART_TENSOR, PART_PRODUCT };
  uint8_t *parts = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *parts);
  for (uint32_t i = 0; i < places->count; i++) {
    const struct place *place = &places->all[i];
    uint32_t source = sources[i], home = source != PLACE_NONE ? ret[source].home : PLACE_NONE;
    if (home == PLACE_NONE || place->frame_kind == XSP_FRAME_PYTHON)
      continue;
    struct one_hot *at = &ret[home];
    parts[i] = place->parent != PLACE_NONE ? parts[place->parent] : PART_NONE;
    if (parts[i] == PART_NONE && (strcmp(place->name, "aten::one_hot") == 0 || is_conversion(place->name)))
      parts[i] = PART_TENSOR;
    else if (parts[i] == PART_NONE && findings_is_product(place->name) &&
             is_called_by(places, i, source, source != home))
      parts[i] = PART_PRODUCT;
    at->own_ns += parts[i] == PART_TENSOR ? place->own.host_ns + place->own.device_ns : 0;
    at->times_ns += parts[i] == PART_PRODUCT ? place->own.host_ns + place->own.device_ns : 0;
  }
}

// To the first place of a line what others of it have.
static void join(const struct places *places, const uint32_t *lines, struct one_hot *ret)
{
  for (uint32_t i = 0; i < places->count; i++) {
    struct one_hot *first = &ret[lines[i]];
    if (!ret[i].is_made || first == &ret[i])
      continue;
    first->is_made = true;
    first->own_ns += ret[i].own_ns;
    first->times_ns += ret[i].times_ns;
    ret[i].is_made = false;
  }
}

static void add(struct findings *findings, uint32_t place, const struct one_hot *at)
{
  struct finding *finding = findings_add(findings);
  finding_at_place(findings, finding, place);
  finding->time_ms = finding->saving_ms = findings_per_observation_ms(findings, at->own_ns + at->times_ns);
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_basis = "time of the tensor, its conversions, and products with it, as if they took none";
  finding->title = arena_format(findings->question->arena,
                                "%s makes a large one-hot tensor and multiplies it, almost all zeros: %s %s",
                                findings_name(findings, finding->context), findings_time(findings, finding->time_ms),
                                findings_per_observation(findings));
  finding->advice = "index instead: an embedding (torch.nn.functional.embedding) or gather reads only these rows; "
                    "index_add_ or bincount adds up by class, where the transposed tensor is multiplied";
  finding->confidence = CONFIDENCE_MEDIUM;
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  XSP_TRY(findings_places(findings, &places, err));
  if (!places->has_contexts)
    return findings_lack(findings, err, "it has no call paths");
  struct one_hot *lines = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *lines);
  uint32_t *sources = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *sources);
  for (uint32_t i = 0; i < places->count; i++)
    sources[i] = place_own_source(places->all, i);
  find_lines(findings, places, sources, lines);
  sum(findings, places, sources, lines);
  join(places, places_lines(places, findings->question->scratch), lines);
  for (uint32_t i = 0; i < places->count; i++) {
    if (!lines[i].is_made)
      continue;
    double own_ms = findings_per_observation_ms(findings, lines[i].own_ns);
    if (lines[i].times_ns > 0 &&
        analyze_share_pct(own_ms, findings->loop_ms) >= findings_threshold(findings, "one_hot-share"))
      add(findings, i, &lines[i]);
  }
  return STATUS_OK;
}

const struct finding_rule finding_f63 = {
    .id = "F63",
    .key = "one_hot",
    .title = "large one-hot tensors",
    .thresholds = {{"one_hot-share", "%", 5,
                    "time of the tensor and its conversions, of the program's loop, at least"}},
    .find = find,
};
