// SPDX-License-Identifier: Apache-2.0
// F1, hotspots: contexts whose own time is a large share of all; and kernels or operators by name, which take it at several
// places, or in a file without call paths. An operator that computes on the host is none: that is what the program is for.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/flops/flops.h"
#include "base/interner.h"

#include <string.h>
#include <xsp/call_path.h>

struct name {
  double own_ns;
  uint32_t place; // the one with most of it
  size_t places;  // that have any
  bool is_found;  // one of them is a finding by itself
};
struct hotspots {
  struct findings *findings;
  const struct places *places;
  struct interner texts;
  struct name *names; // by text
  double total_ns, least_pct;
};

static double own_ns(const struct places *places, const struct place *place)
{
  if (places->has_devices)
    return place->own.device_ns;
  bool is_range = place->frame_kind == XSP_FRAME_KINDS && place->level < XSP_LEVEL_LAYER; // the program itself
  return is_range ? 0 : place->own.host_ns;
}

// `places`: 1 for a context, else those that the name has together.
static void add(struct hotspots *hotspots, uint32_t place, double ns, size_t places)
{
  struct findings *findings = hotspots->findings;
  bool has_devices = hotspots->places->has_devices;
  const char *per = findings_per_observation(findings);
  struct finding *finding = findings_add(findings);
  finding_at_place(findings, finding, place);
  finding_spans_at(finding, place);
  if (places > 1) {
    finding->context_id = finding->line = 0;
    finding->file = NULL;
  }
  finding->time_ms = finding->saving_ms = findings_per_observation_ms(findings, ns);
  finding->saving_basis = "its own time, as if it took none";
  finding->share_pct = analyze_share_pct(ns, hotspots->total_ns);
  finding->title =
      arena_format(findings->question->arena, "%s takes %s %s%s, %.3g %% of the %s time",
                   findings_name(findings, finding->context), findings_time(findings, finding->time_ms), per,
                   places > 1 ? arena_format(findings->question->arena, " at %zu places", places) : "",
                   finding->share_pct, has_devices ? "device" : "CPU");
  finding->advice = has_devices ? "look at this kernel first: A8 has its figures, and whether memory or arithmetic "
                                  "bounds it"
                                : "look here first: fewer calls, less data, another algorithm or layout";
  finding->confidence = CONFIDENCE_HIGH;
  finding_number(finding, "self_ms", finding->time_ms);
  finding_number(finding, "root_ms", findings_per_observation_ms(findings, hotspots->total_ns));
  finding_number(finding, "places", (double)places);
}

static struct name *name_of(struct hotspots *hotspots, uint32_t place)
{
  const char *text = hotspots->places->all[place].name;
  return &hotspots->names[interner_at(&hotspots->texts, text, strlen(text))];
}

// Of the operators on the host, and of the program's loop: where they take little of it, no operator is its hotspot. What only moves
// data there, such as the joints of a U-Net, has to take twice the share.
static bool is_hot(const struct hotspots *hotspots, uint32_t place, double ns)
{
  bool moves = !hotspots->places->has_devices && flops_class(hotspots->places->all[place].name) == FLOPS_MOVES;
  double least_pct = hotspots->least_pct * (moves ? 2 : 1);
  double of_loop_pct =
      analyze_share_pct(findings_per_observation_ms(hotspots->findings, ns), hotspots->findings->loop_ms);
  return analyze_share_pct(ns, hotspots->total_ns) > least_pct &&
         (hotspots->places->has_devices || !(of_loop_pct <= least_pct));
}

static void add_names(struct hotspots *hotspots)
{
  const struct places *places = hotspots->places;
  hotspots->names =
      arena_alloc_array(hotspots->findings->question->scratch, places->count + 1, sizeof *hotspots->names);
  for (uint32_t i = 0; i < places->count; i++) {
    double ns = own_ns(places, &places->all[i]);
    if (!(ns > 0) || findings_is_of_pool(places, i))
      continue;
    struct name *name = name_of(hotspots, i);
    if (name->places == 0 || ns > own_ns(places, &places->all[name->place]))
      name->place = i;
    name->own_ns += ns;
    name->places++;
    if (!places->has_contexts || findings_computes(hotspots->findings, i) || !is_hot(hotspots, i, ns))
      continue;
    name->is_found = true;
    add(hotspots, i, ns, 1);
  }
}

static enum status find(struct findings *findings, struct error *err)
{
  struct hotspots hotspots = {.findings = findings, .least_pct = findings_threshold(findings, "hotspot-share")};
  XSP_TRY(findings_places(findings, &hotspots.places, err));
  const struct place_figures *total = &hotspots.places->total;
  hotspots.total_ns = hotspots.places->has_devices ? total->device_ns : total->host_ns;
  add_names(&hotspots);
  size_t count = interner_count(&hotspots.texts);
  for (size_t i = 0; i < count; i++) {
    const struct name *name = &hotspots.names[i];
    if (!name->is_found && !findings_computes(findings, name->place) && is_hot(&hotspots, name->place, name->own_ns))
      add(&hotspots, name->place, name->own_ns, name->places);
  }
  interner_done(&hotspots.texts);
  return count > 0 ? STATUS_OK : findings_lack(findings, err, "it has neither layers, kernels nor call paths");
}

const struct finding_rule finding_f1 = {
    .id = "F1",
    .key = "hotspot",
    .title = "hotspots",
    .thresholds = {{"hotspot-share", "%", 10,
                    "own time of a context, of the device time, else of the operators' time and of the loop"}},
    .takes_folded = true,
    .is_general = true,
    .find = find,
};
