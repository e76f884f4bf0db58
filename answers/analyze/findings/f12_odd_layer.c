// SPDX-License-Identifier: Apache-2.0
// F12, odd layers: one that takes longer than the layers of the same type, shape and arithmetic.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/flops/layers.h"

#include "base/sorted.h"

#include <math.h>
#include <string.h>

#define EQUALS_LEAST 3

struct odd_layer {
  const struct layer *layer;
  const struct flop_counts *work;
  double ms;
};

// What is equal in layers that should take equally long.
static int compare_work(const struct odd_layer *a, const struct odd_layer *b)
{
  return texts_compare(a->layer->type, b->layer->type) ?: texts_compare(a->layer->shape, b->layer->shape)
      ?: ORDER(flop_counts_flops(a->work), flop_counts_flops(b->work)) ?: ORDER(a->work->bytes, b->work->bytes);
}

SORTED_BY(compare, struct odd_layer, compare_work(a, b) ?: ORDER(a->ms, b->ms) ?: RISING(layer))

static void add(struct findings *findings, const struct odd_layer *odd, double usual_ms, size_t equals)
{
  struct finding *finding = findings_add(findings);
  const char *type = odd->layer->type != NULL ? odd->layer->type : odd->layer->name_text;
  finding->context = findings_layer_name(findings, odd->layer);
  finding->time_ms = odd->ms;
  finding->share_pct = analyze_share_pct(odd->ms, findings->latency_ms);
  finding->saving_ms = odd->ms - usual_ms;
  finding->saving_basis =
      "what it takes more than the median of the layers of equal work; of each, the lower quartile over observations";
  finding->title = arena_format(findings->question->arena, "%s takes %s, %zu other layers of equal work (%s) %s",
                                findings_name(findings, finding->context), findings_time(findings, odd->ms), equals - 1,
                                findings_name(findings, type), findings_time(findings, usual_ms));
  finding->advice =
      "look for what differs: values (denormal numbers), memory layout or alignment of its weights, another "
      "kernel, the first use of something";
  finding->confidence = CONFIDENCE_MEDIUM;
  finding_number(finding, "usual_ms", usual_ms);
  finding_number(finding, "equal_layers", (double)equals);
  finding_number(finding, "flops", flop_counts_flops(odd->work));
}

// Of equal layers, by latency.
static void judge(struct findings *findings, const struct odd_layer *items, size_t count)
{
  double usual_ms = count % 2 != 0 ? items[count / 2].ms : (items[count / 2 - 1].ms + items[count / 2].ms) / 2;
  for (size_t i = 0; i < count && count >= EQUALS_LEAST; i++)
    if (items[i].ms > usual_ms * (1 + findings_threshold(findings, "odd_layer-slower") / 100) &&
        analyze_share_pct(items[i].ms - usual_ms, findings->latency_ms) >
            findings_threshold(findings, "odd_layer-share"))
      add(findings, &items[i], usual_ms, count);
}

#define NO_SHAPES "the arithmetic of its layers is unknown: their shapes are not recorded (--shapes)"

static bool has_shapes(struct store *store)
{
  static const char *const keys[] = {"layer_shape", "input_shape", "Input Dims"};
  uint32_t id;
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
    if (store_find_string(store, keys[i], strlen(keys[i]), &id))
      return true;
  return false;
}

static enum status find(struct findings *findings, struct error *err)
{
  struct layers layers;
  struct layers_work work;
  struct question question;
  if (!has_shapes(findings->question->view->store))
    return findings_lack(findings, err, NO_SHAPES);
  XSP_TRY(findings_layers(findings, &layers, err));
  XSP_TRY(findings_ask(findings, NULL, &question, err));
  XSP_TRY(flops_layers_load(&question, &layers, layers.set, &work, err));
  struct odd_layer *items = arena_alloc_array(question.scratch, layers.count + 1, sizeof *items);
  double *room = arena_alloc_array(question.scratch, layers.observation_count + 1, sizeof *room);
  size_t count = 0;
  for (size_t i = 0; i < layers.count; i++) {
    const struct layer *layer = &layers.items[i];
    double ms = findings_quantile(room, findings_layer_values(&layers, layer, room), 0.25);
    if (!isnan(ms) && flop_counts_flops(&work.items[i]) > 0) // layers of unknown work are equal to none
      items[count++] = (struct odd_layer){layer, &work.items[i], ms};
  }
  if (count == 0)
    return findings_lack(findings, err, NO_SHAPES);
  qsort(items, count, sizeof *items, compare);
  for (size_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count && compare_work(&items[first], &items[end]) == 0;)
      end++;
    judge(findings, &items[first], end - first);
  }
  return STATUS_OK;
}

const struct finding_rule finding_f12 = {
    .id = "F12",
    .key = "odd_layer",
    .title = "layers slower than equal ones",
    .thresholds = {{"odd_layer-slower", "%", 50, "more than the median of at least three layers of equal work"},
                   {"odd_layer-share", "%", 2, "of the observation that this is"}},
    .is_general = true,
    .find = find,
};
