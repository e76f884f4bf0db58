// SPDX-License-Identifier: Apache-2.0
// Places of one function together, and what people look for around a place. Called by places.c and by rules.
#include "analyze/findings/places.h"
#include "analyze/installed.h"
#include "base/buf.h"
#include "base/interner.h"
#include "base/map.h"

#include <math.h>
#include <string.h>
#include <xsp/call_path.h>

bool place_is_glue(const struct place *place)
{
  return place->file != NULL && strstr(place->file, "torch/nn/modules/module.py") != NULL;
}

bool place_is_installed(const struct place *place)
{
  return place->file == NULL || analyze_is_installed(place->file);
}

bool place_is_own(const struct place *place)
{
  return place->frame_kind == XSP_FRAME_PYTHON && !place_is_installed(place);
}

uint32_t place_own_source(const struct place *all, uint32_t place)
{
  while (place != PLACE_NONE && !place_is_own(&all[place]))
    place = all[place].parent;
  return place;
}

uint32_t place_in_source(const struct place *all, uint32_t place)
{
  uint32_t inner = PLACE_NONE;
  for (; place != PLACE_NONE; place = all[place].parent) {
    if (all[place].file == NULL)
      continue;
    inner = inner == PLACE_NONE ? place : inner;
    if (place_is_own(&all[place]))
      return place;
  }
  return inner;
}

const uint32_t *places_lines(const struct places *places, struct arena *arena)
{
  struct interner names SCOPED(interner_done) = {0};
  struct map at SCOPED(map_done) = {0};
  struct buf text SCOPED(buf_done) = {0};
  uint32_t *lines = arena_alloc_array(arena, places->count + 1, sizeof *lines);
  for (uint32_t i = 0; i < places->count; i++) {
    const struct place *place = &places->all[i];
    bool is_new;
    buf_clear(&text);
    buf_format(&text, "%u %s\n%s", place->frame_kind, place->name, place->file != NULL ? place->file : "");
    uint64_t *first =
        map_at(&at, (struct map_key){(uint64_t)interner_at(&names, text.data, text.length) + 1, (uint64_t)place->line},
               &is_new);
    *first = is_new ? i : *first;
    lines[i] = (uint32_t)*first;
  }
  return lines;
}

// ---- functions -------------------------------------------------------------------------------------------------------
void place_units_add(struct place_units *to, const struct place_units *from)
{
  to->count += from->count;
  to->ns += from->ns;
  to->usual_ns += from->usual_ns;
  to->lead_ns += from->lead_ns;
}

void place_figures_add(struct place_figures *to, const struct place_figures *from)
{
  to->host_ns += from->host_ns;
  to->device_ns += from->device_ns;
  place_units_add(&to->kernels, &from->kernels);
  place_units_add(&to->operators, &from->operators);
}

// The line of a function is that of the place with most time, of devices where there are any, with all below it.
static double *times_with_below(const struct places *places, struct arena *arena)
{
  double *ns = arena_alloc_array(arena, places->count + 1, sizeof *ns);
  for (size_t i = places->count; i > 0; i--) {
    const struct place *place = &places->all[i - 1];
    ns[i - 1] += places->has_devices ? place->own.device_ns : place->own.host_ns;
    if (place->parent != PLACE_NONE)
      ns[place->parent] += ns[i - 1];
  }
  return ns;
}

static void settle(struct place_units *units, bool is_folded)
{
  units->usual_ns = is_folded || units->count == 0 ? units->ns : units->count * exp(units->log_ns / units->count);
}

void places_group(struct places *places, struct arena *arena)
{
  struct arena scratch SCOPED(arena_done) = {0};
  struct interner names SCOPED(interner_done) = {0};
  struct map at SCOPED(map_done) = {0};
  struct buf text SCOPED(buf_done) = {0};
  const double *ns = times_with_below(places, &scratch);
  double *most_ns = arena_alloc_array(&scratch, places->count + 1, sizeof *most_ns);
  places->functions = arena_alloc_array(arena, places->count + 1, sizeof *places->functions);
  for (size_t i = 0; i < places->count; i++) {
    struct place *place = &places->all[i];
    uint32_t parent = place->parent == PLACE_NONE ? PLACE_NONE : places->all[place->parent].function;
    buf_clear(&text);
    buf_format(&text, "%u %u %s\n%s", place->frame_kind, place->frame_kind == XSP_FRAME_KINDS ? place->level : 0,
               place->name, place->file != NULL ? place->file : "");
    bool is_new;
    uint64_t *function =
        map_at(&at, (struct map_key){(uint64_t)parent + 1, interner_at(&names, text.data, text.length)}, &is_new);
    if (is_new) {
      *function = places->function_count++;
      places->functions[*function] = *place;
      places->functions[*function].parent = parent;
      places->functions[*function].own = (struct place_figures){0};
      most_ns[*function] = -1;
    }
    struct place *of = &places->functions[*function];
    place->function = (uint32_t)*function;
    settle(&place->own.kernels, places->is_folded);
    settle(&place->own.operators, places->is_folded);
    place_figures_add(&of->own, &place->own);
    place_figures_add(&places->total, &place->own);
    if (ns[i] > most_ns[*function]) {
      most_ns[*function] = ns[i];
      of->function = (uint32_t)i; // of a function: its place with most time
      of->line = place->line;
    }
  }
}

void places_add_leads(struct places *places, const struct place_lead *leads, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    uint32_t a = places->all[leads[i].before].function, b = places->all[leads[i].after].function;
    while (a != b) // callers have lower numbers
      if (b == PLACE_NONE || (a != PLACE_NONE && a > b))
        a = places->functions[a].parent;
      else
        b = places->functions[b].parent;
    struct place_figures *of = a == PLACE_NONE ? &places->top : &places->functions[a].own;
    (leads[i].is_kernel ? &of->kernels : &of->operators)->lead_ns += leads[i].ns;
  }
}
