// SPDX-License-Identifier: Apache-2.0
// F27, elementwise chains: a function of the program computes in many elementwise operators, each of which reads and writes whole
// tensors. One fused operator reads and writes once.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/flops/flops.h"
#include "base/map.h"
#include "base/sorted.h"
#include "base/vector.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <xsp/call_path.h>

#define OTHERS_LEAST 3 // operators a call, for copies to count with them

struct line_work { // of a line of a function of the program
  uint32_t function;
  int64_t line;
  double operators, ns; // elementwise ones; with backward operators and copies
  double copies;
  bool has_products; // or norms: no chain goes over it
  uint32_t place;    // the forward operator with most time
  double most_ns;
};
struct chains {
  const struct places *places;
  VECTOR(struct line_work) lines;
  struct map line_at;   // by function and line
  struct map call_at;   // by function and what calls it: in `least`
  VECTOR(double) least; // calls of the operator that is called least often there
  double *calls;        // by function
};
struct chain {              // of a function
  double length, operators; // of the longest one a call; of all per observation
  double ns, saving_ns;
  uint32_t place;
  double most_ns;
};

// "PowBackward0" -> "aten::pow"; false: no backward operator.
static bool forward_name(const char *name, char *ret, size_t size)
{
  static const char around[] = "autograd::engine::evaluate_function: ";
  const char *plain = strncmp(name, around, sizeof around - 1) == 0 ? name + sizeof around - 1 : name;
  const char *end = strstr(plain, "Backward");
  size_t length = end != NULL ? (size_t)(end - plain) : 0;
  if (length == 0 || length + 7 > size)
    return false;
  memcpy(ret, "aten::", 6);
  for (size_t i = 0; i < length; i++)
    ret[6 + i] = (char)tolower((unsigned char)plain[i]);
  ret[6 + length] = 0;
  return true;
}

static struct line_work *line_of(struct chains *chains, uint32_t place)
{
  const struct place *at = &chains->places->all[place];
  bool is_new;
  uint64_t *found = map_at(&chains->line_at, (struct map_key){(uint64_t)at->function + 1, (uint64_t)at->line}, &is_new);
  if (is_new) {
    *found = chains->lines.count;
    *vector_add(&chains->lines) = (struct line_work){.function = at->function, .line = at->line};
  }
  return &chains->lines.items[*found];
}

// Of a whole tensor.
static bool is_copy(const char *name)
{
  return strcmp(name, "aten::clone") == 0;
}

static void mark_products(struct chains *chains, uint32_t place)
{
  static const char *const norms[] = {"*layer_norm*", "*batch_norm*", "*group_norm*", "*rms_norm*"};
  const struct place *all = chains->places->all;
  if (flops_class(all[place].name) != FLOPS_PRODUCTS &&
      !findings_name_matches(all[place].name, norms, sizeof norms / sizeof norms[0]))
    return;
  for (uint32_t at = all[place].parent; at != PLACE_NONE; at = all[at].parent)
    if (place_is_own(&all[at]))
      line_of(chains, at)->has_products = true;
}

// The function is called as often as the operator that is called least often, at each place that calls it.
static void count_call(struct chains *chains, uint32_t caller, double count)
{
  const struct place *at = &chains->places->all[caller];
  bool is_new;
  uint64_t *found =
      map_at(&chains->call_at, (struct map_key){(uint64_t)at->function + 1, (uint64_t)at->parent + 1}, &is_new);
  if (is_new) {
    *found = chains->least.count;
    *vector_add(&chains->least) = 0;
  }
  double *least = &chains->least.items[*found];
  if (*least == 0 || count < *least) {
    chains->calls[at->function] += count - *least;
    *least = count;
  }
}

static void add_place(struct chains *chains, uint32_t place)
{
  const struct places *places = chains->places;
  const struct place *operator_place = &places->all[place];
  double count = operator_place->own.operators.count / places->observations;
  uint32_t caller = operator_place->parent;
  char forward[64];
  if (count == 0 || operator_place->frame_kind != XSP_FRAME_FRAMEWORK)
    return;
  mark_products(chains, place);
  bool is_backward = forward_name(operator_place->name, forward, sizeof forward);
  const char *name = is_backward ? forward : operator_place->name;
  if (caller == PLACE_NONE || !place_is_own(&places->all[caller]) ||
      (flops_class(name) != FLOPS_ELEMENTWISE && !is_copy(name)))
    return;
  struct line_work *line = line_of(chains, caller);
  line->ns += operator_place->own.operators.ns;
  if (is_backward)
    return;
  if (is_copy(name)) {
    line->copies += count;
  } else {
    line->operators += count;
    count_call(chains, caller, count);
  }
  if (operator_place->own.operators.ns > line->most_ns) {
    line->most_ns = operator_place->own.operators.ns;
    line->place = place;
  }
}

SORTED_BY(by_function_and_line, struct line_work, RISING(function) ?: RISING(line))

// Lines of a function, one after the other, without products between them.
static void add_chain(struct chain *chain, const struct line_work *lines, size_t count, double calls, double least)
{
  double operators = 0, copies = 0, ns = 0;
  for (size_t i = 0; i < count; i++) {
    operators += lines[i].operators;
    copies += lines[i].copies;
    ns += lines[i].ns;
  }
  operators += operators >= OTHERS_LEAST * calls ? copies : 0;
  double length = calls > 0 ? operators / calls : 0;
  if (!(length > 0) || length < least)
    return;
  chain->length = fmax(chain->length, length);
  chain->operators += operators;
  chain->ns += ns;
  chain->saving_ns += ns * (1 - 1 / length);
  for (size_t i = 0; i < count; i++)
    if (lines[i].most_ns > chain->most_ns) {
      chain->most_ns = lines[i].most_ns;
      chain->place = lines[i].place;
    }
}

static void add(struct findings *findings, uint32_t function, const struct chain *chain)
{
  const struct places *places = findings->places;
  struct finding *finding = findings_add(findings);
  finding_at_place(findings, finding, chain->place);
  finding->context = places->functions[function].name;
  finding_spans_in_function(finding, function);
  finding->time_ms = findings_per_observation_ms(findings, chain->ns);
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_ms = findings_per_observation_ms(findings, chain->saving_ns);
  finding->saving_basis =
      "time of these operators, forward and backward, as if each call read and wrote its tensors once";
  finding->title = arena_format(
      findings->question->arena,
      "%s computes by %.0f elementwise operators a call, each over whole tensors, which one fused operator can do",
      findings_name(findings, finding->context), chain->length);
  finding->advice = "use the framework's own function (gelu, rms_norm, silu, softmax), or fuse it: torch.compile";
  finding->confidence = CONFIDENCE_MEDIUM;
  finding_number(finding, "operators", chain->operators);
  finding_number(finding, "length", chain->length);
}

static void find_chains(struct findings *findings, struct chains *chains)
{
  const struct places *places = chains->places;
  double least = findings_threshold(findings, "elementwise-operators");
  for (uint32_t i = 0; i < places->count; i++)
    add_place(chains, i);
  vector_sort(&chains->lines, by_function_and_line);
  for (size_t i = 0, end; i < chains->lines.count; i = end) {
    const struct line_work *lines = chains->lines.items;
    struct chain chain = {.length = 0};
    for (end = i; end < chains->lines.count && lines[end].function == lines[i].function;) {
      size_t from = end++; // a line with products alone, or all lines up to the next one
      while (!lines[from].has_products && end < chains->lines.count && lines[end].function == lines[i].function &&
             !lines[end].has_products)
        end++;
      add_chain(&chain, &lines[from], end - from, chains->calls[lines[i].function], least);
    }
    if (chain.length > 0)
      add(findings, lines[i].function, &chain);
  }
}

// A simulation, or a network of fixed weights written out, computes by such operators alone.
static bool has_model(struct findings *findings, const struct places *places)
{
  bool *is_below = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *is_below), has = false;
  for (uint32_t i = 0; i < places->count; i++) { // callers come before what they call
    const struct place *place = &places->all[i];
    is_below[i] = place_is_glue(place) || (place->parent != PLACE_NONE && is_below[place->parent]);
    has |= place->own.operators.count > 0 && (is_below[i] || findings_is_backward(place->name));
  }
  return has;
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  XSP_TRY(findings_host_places(findings, &places, err)); // F2 has kernels
  if (!has_model(findings, places))
    return STATUS_OK;
  struct chains chains = {
      .places = places,
      .calls = arena_alloc_array(findings->question->scratch, places->function_count + 1, sizeof *chains.calls)};
  find_chains(findings, &chains);
  vector_done(&chains.lines);
  vector_done(&chains.least);
  map_done(&chains.line_at);
  map_done(&chains.call_at);
  return STATUS_OK;
}

const struct finding_rule finding_f27 = {
    .id = "F27",
    .key = "elementwise",
    .title = "chains of elementwise operators",
    .thresholds = {{"elementwise-operators", "", 4,
                    "elementwise operators that a call of the function runs, at least"}},
    .takes_folded = true,
    .counts_backward = true,
    .find = find,
};
