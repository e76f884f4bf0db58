// SPDX-License-Identifier: Apache-2.0
// Why the observations take as long as they do: the first rule of a table that holds for what their time goes to. A rule states
// what the figures show and nothing more; where none holds, there is no cause.
#include "analyze/cache.h"
#include "analyze/causes/time_parts.h"
#include "analyze/experiments.h"
#include "analyze/findings/first_sentence.h"
#include "analyze/kernels/kernels.h"
#include "analyze/layers/a6_type_latency.h"
#include "base/interner.h"

#include <math.h>
#include <string.h>

#define LEAST_IDLE_PCT 20   // below this, an idle device is no cause
#define LEAST_COPIES_PCT 20 // of the time, without kernels
#define LEAST_LOADER_PCT 10
#define LEAST_UNRECORDED_PCT 20
#define MOST_SLOWER_TIMES 1.5 // beyond this, shares are those of the recording

// ---- the rules -------------------------------------------------------------------------------------------------------
// Is this the largest part of the time without the device?
static bool is_main(const struct cause *of, double pct)
{
  return pct > 0 && pct >= of->part_pct[TIME_LOADER] && pct >= cause_operators_pct(of) &&
         pct >= of->part_pct[TIME_CALLS] && pct >= cause_outside_pct(of);
}

static bool is_idle_in(const struct cause *of, double pct)
{
  return of->idle_pct >= LEAST_IDLE_PCT && is_main(of, pct);
}

static bool slowed_by_recording(const struct cause *of)
{
  return of->slower_times >= MOST_SLOWER_TIMES;
}

static bool waits_for_loader(const struct cause *of)
{
  return of->part_pct[TIME_LOADER] >= LEAST_LOADER_PCT && is_main(of, of->part_pct[TIME_LOADER]);
}

static bool waits_for_calls(const struct cause *of)
{
  return is_idle_in(of, of->part_pct[TIME_CALLS]);
}

static bool waits_for_operators(const struct cause *of)
{
  return is_idle_in(of, cause_operators_pct(of));
}

static bool waits_for_program(const struct cause *of)
{
  return is_idle_in(of, cause_outside_pct(of));
}

static bool copies(const struct cause *of)
{
  return of->part_pct[TIME_COPIES] >= LEAST_COPIES_PCT;
}

static bool executes(const struct cause *of)
{
  return of->part_pct[TIME_KERNELS] >= 50;
}

static bool is_in_layers(const struct cause *of)
{
  return isnan(of->idle_pct) && of->part_pct[TIME_LAYERS] >= 50;
}

static bool is_outside_layers(const struct cause *of)
{
  return isnan(of->idle_pct) && of->has_layers && cause_outside_pct(of) >= 50;
}

// Of programs: a model that was measured without layers was so on purpose.
static bool is_unrecorded(const struct cause *of)
{
  return isnan(of->idle_pct) && !of->has_layers && of->is_of_program && of->part_pct[TIME_REST] >= LEAST_UNRECORDED_PCT;
}

// ---- whom they blame -------------------------------------------------------------------------------------------------
// The type with most of the layers' time, as A6 has it; where types are unknown, the layer.
static enum status name_layers(struct question *question, struct cause *of, struct error *err)
{
  struct type_latencies latencies;
  XSP_TRY(type_latencies_load(question, &latencies, err));
  const struct types *types = &latencies.types;
  const struct layers *layers = &latencies.layers;
  double most_ms = NAN;
  if (types->count > 1 && types->names[types->order[0]] != NULL) {
    of->name = types->names[types->order[0]];
    most_ms = types->values[types->order[0]];
  }
  for (size_t i = 0; i < layers->count && types->count == 1; i++) {
    double ms = layer_value(question, layers, &layers->items[i], LAYER_LATENCY);
    if (!(ms <= most_ms) && !isnan(ms)) {
      of->name = layers->items[i].name_text;
      most_ms = ms;
    }
  }
  of->name_pct = types_share_pct(most_ms, types->total);
  return STATUS_OK;
}

static void name_kernel(struct question *question, const struct kernels *kernels, struct cause *of)
{
  struct kernel_groups groups = kernels_group_by_name(question, kernels);
  double most_ms = 0;
  for (size_t i = 0; i < groups.count; i++) {
    struct kernel_figures figures;
    kernel_groups_figures(&groups, i, &figures);
    if (!(figures.latency.value > most_ms))
      continue;
    most_ms = figures.latency.value;
    of->name = kernels->names[i];
  }
  of->name_is_kernel = true;
  of->name_pct = analyze_share_pct(most_ms, kernels_figures_of_all(question, kernels).latency.value);
}

// The type with most device time of layers, else the layer: what the page lists by operator.
static enum status name_operators(struct question *question, struct cause *of, struct error *err)
{
  struct kernels kernels;
  struct interner names = {0};
  XSP_TRY(kernels_load(question, question->batch_size, KERNELS_IN_LAYER, &kernels, err));
  double *sums_ms = arena_alloc_array(question->scratch, kernels.layers_listed + 1, sizeof *sums_ms);
  double all_ms = 0, most_ms = 0;
  for (size_t i = 0; i < kernels.layers_listed; i++) {
    const struct layer *layer = &kernels.layers.items[i];
    const char *name = layer->type != NULL && layer->type[0] != '\0' ? layer->type : layer->name_text;
    double ms = kernels_layer_gpu_ms(question, &kernels, i);
    if (name == NULL || !(ms > 0))
      continue;
    double *sum_ms = &sums_ms[interner_at(&names, name, strlen(name))];
    *sum_ms += ms;
    all_ms += ms;
    if (*sum_ms > most_ms) { // sums only grow: the largest is the last to exceed all others
      most_ms = *sum_ms;
      of->name = name;
    }
  }
  interner_done(&names);
  of->name_pct = analyze_share_pct(most_ms, all_ms);
  return STATUS_OK;
}

// Layers, unless most of the kernels' time belongs to none.
static enum status name_work(struct question *question, struct cause *of, struct error *err)
{
  struct kernels kernels;
  XSP_TRY(kernels_load(question, question->batch_size, KERNELS_ALONE, &kernels, err));
  double kernels_ms = kernels_figures_of_all(question, &kernels).latency.value;
  of->unattributed_pct = analyze_share_pct(question_value(question, kernels.set, kernels.outside_ms), kernels_ms);
  if (of->has_layers && of->unattributed_pct < 50)
    return name_operators(question, of, err);
  name_kernel(question, &kernels, of);
  return STATUS_OK;
}

struct cause_rule {
  const char *key; // part of the contract
  bool (*holds)(const struct cause *of);
  enum status (*blame)(struct question *question, struct cause *of, struct error *err); // NULL: nobody
};
static const struct cause_rule rules[] = {
    // the first that holds is the cause
    {"recording", slowed_by_recording, NULL},
    {"data_loader", waits_for_loader, NULL},
    {"device_calls", waits_for_calls, NULL},
    {"operators", waits_for_operators, NULL},
    {"program", waits_for_program, NULL},
    {"copies", copies, NULL},
    {"kernels", executes, name_work},
    {"layers", is_in_layers, name_layers},
    {"outside_layers", is_outside_layers, NULL},
    {"unrecorded", is_unrecorded, NULL},
};

// ---- the figures -----------------------------------------------------------------------------------------------------
// One set, so that its parts add up: with layers and kernels, else with kernels, else with layers, else with ranges.
static const struct view_set *set_of(const struct view *view, int64_t batch_size)
{
  const struct kernel_rule any_kernels = {.mask = XSP_LEVEL_MASK(XSP_LEVEL_KERNEL)};
  const struct view_set *set = view_rule_by_layer(view, batch_size, false);
  if (set == NULL)
    set = view_rule_kernels(view, batch_size, &any_kernels);
  if (set == NULL)
    set = view_rule(view, batch_size, XSP_LEVEL_LAYER, NULL);
  return set != NULL ? set : view_rule(view, batch_size, XSP_LEVEL_APPLICATION, NULL);
}

static bool has_set(const struct view *view, int64_t batch_size)
{
  return set_of(view, batch_size) != NULL;
}

static bool has_several_batches(const struct view *view)
{
  for (size_t i = 1; i < view->set_count; i++)
    if (view->sets[i].batch_size != view->sets[0].batch_size)
      return true;
  return false;
}

static double slower_times(struct question *question, const struct view_set *set)
{
  const char *from;
  const struct view_set *model = view_rule(question->view, set->batch_size, XSP_LEVEL_MODEL, &from);
  if (model == NULL || from != NULL)
    return NAN;
  return analyze_share_pct(question_model_latency(question, set), question_model_latency(question, model)) / 100;
}

static enum status load_figures(struct question *question, const struct view_set *set, struct cause *of,
                                struct error *err)
{
  struct time_parts parts;
  XSP_TRY(time_parts_load(question, set, &parts, err));
  double all_ms = question_model_latency(question, set);
  for (size_t part = 0; part < TIME_PARTS; part++)
    of->part_pct[part] = analyze_share_pct(question_value(question, set, parts.parts[part]), all_ms);
  // The smaller of two: the first steps of a trace lack the work of those before it, and work may belong to no step.
  double busy_pct = fmax(of->part_pct[TIME_KERNELS] + of->part_pct[TIME_COPIES],
                         analyze_share_pct(question_value(question, set, parts.work), all_ms));
  of->idle_pct = parts.has_device ? fmax(100 - busy_pct, 0) : NAN;
  of->loader_pct = analyze_share_pct(question_value(question, set, parts.loader), all_ms);
  of->kernel_ms = analyze_share_pct(question_value(question, set, parts.kernel_sums),
                                    question_value(question, set, parts.kernels)) /
                  100;
  of->slower_times = slower_times(question, set);
  of->has_layers = parts.has_layers;
  of->has_devices = parts.has_devices;
  of->call = parts.call;
  of->launch = parts.launch;
  of->launch_ms = parts.launch_ms;
  of->host = parts.host_name;
  of->host_pct = analyze_share_pct(question_value(question, set, parts.host), all_ms);
  of->levels = set->levels_text;
  of->is_of_program = parts.has_program;
  return STATUS_OK;
}

// STATUS_NO: no rule holds, or the experiment has nothing below its models.
static enum status find_cause(struct question *question, struct cause *of, struct error *err)
{
  XSP_TRY(question_batch(question, has_set, "layers, kernels or ranges", err));
  XSP_TRY(load_figures(question, set_of(question->view, question->batch_size), of, err));
  of->batch_size = has_several_batches(question->view) ? question->batch_size : 0;
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    if (!rules[i].holds(of))
      continue;
    of->rule = rules[i].key;
    return rules[i].blame == NULL ? STATUS_OK : rules[i].blame(question, of, err);
  }
  return STATUS_NO;
}

// What the findings say about a program comes before what a rule shows. `status`: of the rules.
static enum status say_first(struct question *question, struct cause *of, enum status status, struct error *err)
{
  struct first_sentence sentence = {0};
  enum status asked = findings_first_sentence(question, &sentence, err);
  if (asked != STATUS_OK && asked != STATUS_NO)
    return asked;
  of->text = sentence.text;
  of->file = sentence.file;
  of->line = sentence.line;
  of->share_pct = sentence.share_pct;
  if (of->rule == NULL && of->text != NULL)
    of->rule = "findings";
  return sentence.text != NULL ? STATUS_OK : status;
}

static enum status cause_of(const struct experiment_runs *experiment, const struct analyze_request *request,
                            struct arena *arena, struct cause *ret_cause, struct error *err)
{
  static const struct analysis analysis = {.id = "the cause"};
  struct arena scratch SCOPED(arena_done) = {0};
  struct question question;
  struct view *view;
  analyze_cache_next_question(request->cache);
  *ret_cause = (struct cause){.store = experiment->store,
                              .experiment_id = experiment->experiment->experiment_id,
                              .experiment = experiment->name,
                              .name_pct = NAN,
                              .unattributed_pct = NAN};
  const struct view_choice choice = {.signature = request->signature != NULL ? request->signature : VIEW_ALL_KINDS,
                                     .batch = request->batch};
  XSP_TRY(analyze_cache_view(request->cache, experiment, &choice, arena, &view, err));
  enum status status = question_start(&question, &analysis, request, view, arena, &scratch, err);
  if (status == STATUS_OK)
    status = find_cause(&question, ret_cause, err);
  if ((status == STATUS_OK || status == STATUS_NO) && !(ret_cause->rule != NULL && slowed_by_recording(ret_cause)))
    status = say_first(&question, ret_cause, status, err);
  if (ret_cause->name != NULL) // of scratch, maybe
    ret_cause->name = arena_copy(arena, ret_cause->name, strlen(ret_cause->name));
  return status;
}

enum status analyze_causes(struct store *const *stores, size_t store_count, const struct analyze_request *request,
                           struct arena *arena, struct cause **ret_causes, size_t *ret_count, struct error *err)
{
  struct analyze_request asked;
  struct experiment_runs *experiments;
  size_t count;
  analyze_request_init(&asked);
  asked.batch = request->batch;
  asked.cache = request->cache;
  asked.reads_source = request->reads_source;
  *ret_count = 0;
  enum status status = analyze_cache_experiments(request->cache, stores, store_count, arena, &experiments, &count, err);
  if (status != STATUS_OK)
    return status == STATUS_NO ? STATUS_OK : status; // none
  *ret_causes = arena_alloc_array(arena, count + 1, sizeof **ret_causes);
  for (size_t i = 0; i < count; i++) {
    if (store_is_folded(experiments[i].store)) // its time is in no span
      continue;
    struct cause *cause = &(*ret_causes)[*ret_count];
    status = cause_of(&experiments[i], &asked, arena, cause, err);
    if (status != STATUS_OK && status != STATUS_NO)
      return status;
    if (count == 1)
      cause->experiment = NULL;
    *ret_count += status == STATUS_OK;
  }
  return STATUS_OK;
}
