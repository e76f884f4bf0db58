// SPDX-License-Identifier: Apache-2.0
// Helpers of several rules (shared.h).
#include "analyze/findings/shared.h"

#include "analyze/flops/flops.h"
#include "base/sorted.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xsp/call_path.h>

#define SINGLE_ROWS_LEAST 100

void tally_add(struct findings *findings, struct tally *tally, uint32_t place, double ns)
{
  if (tally->ns == NULL)
    tally->ns = arena_alloc_array(findings->question->scratch, findings->places->count + 1, sizeof *tally->ns);
  tally->total_ns += ns;
  if (place != PLACE_NONE)
    tally->ns[place] += ns;
}

void tally_fill(struct findings *findings, const struct tally *tally, struct finding *finding)
{
  uint32_t most = PLACE_NONE;
  size_t count = 0;
  for (uint32_t i = 0; i < findings->places->count; i++) {
    count += tally->ns[i] > 0;
    if (tally->ns[i] > 0 && (most == PLACE_NONE || tally->ns[i] > tally->ns[most]))
      most = i;
  }
  if (most != PLACE_NONE) {
    finding_at_place(findings, finding, most);
    finding_spans_at(finding, most);
  }
  finding->time_ms = findings_per_observation_ms(findings, tally->total_ns);
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->latency_ms);
  finding_number(finding, "places", (double)count);
}

bool findings_is_xlas(const struct findings *findings)
{
  struct store *store = findings->question->view->store;
  uint32_t id;
  return store_find_string(store, "jax", 3, &id) || store_find_string(store, "xplane", 6, &id);
}

bool findings_runs_graphs(const struct findings *findings)
{
  static const char *const tracers[] = {"tensorflow", "onnxruntime", "openvino", "litert", "mxnet", "jax", "xplane"};
  uint32_t id;
  for (size_t i = 0; i < sizeof tracers / sizeof tracers[0]; i++)
    if (store_find_string(findings->question->view->store, tracers[i], strlen(tracers[i]), &id))
      return true;
  return false;
}

bool findings_is_compiled(const struct place *place)
{
  return strncmp(place->name, "Torch-Compiled Region", 21) == 0 || strncmp(place->name, "TorchDynamo", 11) == 0;
}

// An operator of PyTorch that the program itself calls, and that no layer is made of.
static bool is_odd(const struct findings *findings, const struct place *place)
{
  static const char *const usual[] = {
      "aten::*rand*", "aten::*normal*", "aten::*uniform*",   "aten::*attention*", "aten::*lstm*", "aten::*gru*",
      "aten::*rnn*",  "aten::einsum",   "aten::tensordot",   "aten::*conv*",      "aten::*mm",    "aten::*linear*",
      "aten::*norm*", "aten::*loss*",   "aten::*embedding*", "aten::*argm*",      "aten::*topk*", "aten::*softmax*"};
  const struct place *caller = place->parent != PLACE_NONE ? &findings->places->all[place->parent] : NULL;
  return strncmp(place->name, "aten::", 6) == 0 && caller != NULL && place_is_own(caller) &&
         !findings_name_matches(place->name, usual, sizeof usual / sizeof usual[0]);
}

// Names are the store's: few, at many places.
static enum flop_class class_of(const struct findings *findings, const char *name)
{
  bool is_new;
  uint64_t *class = map_at(findings->classes, map_number((uintptr_t)name), &is_new);
  if (is_new)
    *class = flops_class(name);
  return (enum flop_class) * class;
}

bool findings_is_backward(const char *operator_name)
{
  return strstr(operator_name, "Backward") != NULL;
}

bool findings_is_product(const char *operator_name)
{
  return flops_class(operator_name) == FLOPS_PRODUCTS || strstr(operator_name, "mmBackward") != NULL ||
         strstr(operator_name, "MmBackward") != NULL;
}

static bool is_computing(const struct findings *findings, const struct place *place)
{
  enum flop_class class = class_of(findings, place->name);
  if (class != FLOPS_UNKNOWN)
    return class != FLOPS_MOVES;
  bool is_pytorchs =
      strstr(place->name, "::") != NULL || findings_is_backward(place->name) || findings_is_compiled(place);
  bool is_node = place->level == XSP_LEVEL_LAYER && findings_runs_graphs(findings); // named as the model names it
  return (is_pytorchs && !is_odd(findings, place)) || is_node;
}

bool findings_computes(const struct findings *findings, uint32_t place)
{
  const struct places *places = findings->places;
  for (; place != PLACE_NONE && !places->has_devices; place = places->all[place].parent)
    if (is_computing(findings, &places->all[place]))
      return true;
  return false;
}

bool findings_is_of_pool(const struct places *places, uint32_t place)
{
  bool has_operators = places->total.operators.ns > 0 && places->all[place].level == XSP_LEVEL_LIBRARY;
  for (uint32_t at = place; at != PLACE_NONE && has_operators; at = places->all[at].parent)
    if (places->all[at].frame_kind != XSP_FRAME_KINDS || places->all[at].level == XSP_LEVEL_LAYER)
      return false;
  return has_operators;
}

enum status findings_system(struct findings *findings, const char *key, double *ret_number, struct error *err)
{
  struct question *question = findings->question;
  struct store_system_value *values;
  size_t count;
  *ret_number = NAN;
  XSP_TRY(store_system(question->view->store, question->view->experiment->system_id, question->scratch, &values, &count,
                       err));
  for (size_t i = 0; i < count; i++)
    if (values[i].is_number && strcmp(values[i].key, key) == 0)
      *ret_number = values[i].number;
  return STATUS_OK;
}

// Not fnmatch, which turns both into wide characters: names are matched by the million.
static char folded(char c, bool in_any_case)
{
  return in_any_case ? (char)tolower((unsigned char)c) : c;
}

bool findings_matches(const char *name, const char *pattern, bool in_any_case)
{
  const char *after_star = NULL, *again = NULL; // where to try the last star with one more character
  while (*name != '\0') {
    if (*pattern == '*') {
      after_star = ++pattern;
      again = name;
    } else if (folded(*pattern, in_any_case) == folded(*name, in_any_case)) {
      pattern++;
      name++;
    } else if (after_star != NULL) {
      pattern = after_star;
      name = ++again;
      if (!in_any_case && *pattern != '*') // the rest cannot begin before its first character; it may be empty
        name = again = strchrnul(again, *pattern);
    } else {
      return false;
    }
  }
  while (*pattern == '*')
    pattern++;
  return *pattern == '\0';
}

bool findings_name_matches(const char *name, const char *const *patterns, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (findings_matches(name, patterns[i], true))
      return true;
  return false;
}

enum status findings_layers(struct findings *findings, struct layers *ret_layers, struct error *err)
{
  struct question question;
  if (!view_has_layers(findings->question->view, findings->set->batch_size))
    return findings_lack(findings, err, "it has no layers");
  if (findings->layers == NULL) {
    struct layers *layers = arena_alloc(findings->question->scratch, sizeof *layers);
    XSP_TRY(findings_ask(findings, NULL, &question, err));
    XSP_TRY(layers_answer(&question, LAYERS_FOR_LATENCY, layers, err));
    findings->layers = layers;
  }
  *ret_layers = *findings->layers;
  return STATUS_OK;
}

void findings_sort(double *values, size_t count)
{
  qsort(values, count, sizeof *values, sorted_compare_double);
}

size_t findings_layer_values(const struct layers *layers, const struct layer *layer, double *room)
{
  size_t count = 0;
  for (size_t i = 0; i < layers->observation_count; i++) {
    double ms = layer->latency_ms[layers->first_observation + i];
    if (layers->set->is_kept[i] && !isnan(ms))
      room[count++] = ms;
  }
  findings_sort(room, count);
  return count;
}

double findings_quantile(const double *rising, size_t count, double part)
{
  double at = part * ((double)count - 1);
  size_t below = (size_t)fmax(at, 0), above = below + 1 < count ? below + 1 : below;
  return count == 0 ? NAN : rising[below] + (rising[above] - rising[below]) * (at - (double)below);
}

const char *findings_layer_name(struct findings *findings, const struct layer *layer)
{
  return layer->module != NULL ? arena_format(findings->question->arena, "%s (%s)", layer->module, layer->name_text)
                               : arena_format(findings->question->arena, "%s", layer->name_text);
}

double findings_mean_loop_ms(const struct findings *findings)
{
  const struct view_set *set = findings->set;
  double sum_ms = 0;
  for (size_t i = 0; i < set->observation_count; i++)
    sum_ms += set->latencies_ms[i];
  return findings->loop_ms - findings->latency_ms + sum_ms / (double)set->observation_count;
}

const char *findings_base_name(const char *file)
{
  const char *slash = file != NULL ? strrchr(file, '/') : NULL;
  return slash != NULL ? slash + 1 : file;
}

bool findings_has_single_rows(const struct findings *findings)
{
  return findings->set->batch_size == 1 && findings->set->observation_count >= SINGLE_ROWS_LEAST;
}
