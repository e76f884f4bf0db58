// SPDX-License-Identifier: Apache-2.0
// Compilations of functions under jax.jit: from the first tracing or lowering in a call of the function to the end of XLA's
// compilation. Called by events.c, event by event of a thread, in the order of starts.
#include "importers/xplane/xplane.h"

#include "base/buf.h"

#include <ctype.h>

// The call that encloses the event, after those that have ended.
static struct xplane_open *innermost(struct xplane_line *line, const struct xplane_event *event)
{
  while (line->open.count > 0 && line->open.items[line->open.count - 1].end_ns < event->end_ns)
    line->open.count--;
  return line->open.count > 0 ? &line->open.items[line->open.count - 1] : NULL;
}

// jax.jit names the module of "<lambda>" "jit__lambda".
static uint32_t module_name_of(struct xplane *x, uint32_t function)
{
  struct slice name = xplane_text(x, function);
  struct buf text SCOPED(buf_done) = {0};
  buf_text(&text, "jit_");
  for (size_t i = 0; i < name.length; i++) {
    bool is_kept = isalnum((unsigned char)name.data[i]) || memchr("_-.", name.data[i], 3) != NULL;
    buf_put(&text, is_kept ? &name.data[i] : "_", 1);
  }
  while (text.length > 4 && text.data[text.length - 1] == '_')
    text.length--;
  return interner_at(&x->texts, text.data, text.length);
}

// ---- spans -----------------------------------------------------------------------------------------------------------

static enum status add_span(struct xplane *x, const struct xplane_line *line, struct xplane_open *call, int64_t end_ns,
                            struct error *err)
{
  bool is_new;
  uint64_t *place = map_at(&x->function_at, map_number((uint64_t)call->function + 1), &is_new);
  if (is_new) {
    *vector_add(&x->functions) = (struct xplane_function){.name = call->function};
    *place = x->functions.count;
  }
  uint32_t function = (uint32_t)*place - 1;
  struct store_span span = {.span_id = ++x->span_count,
                            .track_id = line->track_id,
                            .start_ns = call->first_ns,
                            .duration_ns = end_ns - call->first_ns,
                            .name = import_word(x->import, "jax.jit compilation"),
                            .category = x->strings.compile,
                            .level = XSP_LEVEL_APPLICATION,
                            .kind = XSP_KIND_SYNC};
  *vector_add(&x->compilations) = (struct xplane_compilation){
      .span_id = span.span_id, .function = function, .nth = x->functions.items[function].compiled++};
  call->has_first = false;
  return import_span(x->import, &span, err);
}

enum status xplane_compilation_event(struct xplane *x, struct xplane_line *line, const struct xplane_event *event,
                                     struct error *err)
{
  enum xplane_class class = (enum xplane_class)event->name->class;
  if (class != CLASS_FUNCTION && class != CLASS_PREPARE && class != CLASS_COMPILE)
    return STATUS_OK;
  struct xplane_open *call = innermost(line, event);
  if (class == CLASS_FUNCTION) {
    bool is_same = call != NULL && call->function == event->name->inner; // each call is recorded twice
    if (!is_same)
      *vector_add(&line->open) = (struct xplane_open){.end_ns = event->end_ns, .function = event->name->inner};
    return STATUS_OK;
  }
  if (call == NULL)
    return STATUS_OK;
  if (!call->has_first)
    call->first_ns = event->start_ns;
  call->has_first = true;
  return class == CLASS_COMPILE ? add_span(x, line, call, event->end_ns, err) : STATUS_OK;
}

// ---- reasons ---------------------------------------------------------------------------------------------------------

// The module that a compilation made: programs are numbered in their order. Where the file has other programs of the name,
// recording began after them.
static const struct xplane_module *module_of(const struct xplane *x, const struct xplane_function *function,
                                             uint32_t nth)
{
  size_t first = xplane_modules_named(x, function->module), count = 0;
  while (first + count < x->module_order.count &&
         x->modules.items[x->module_order.items[first + count]].name == function->module)
    count++;
  if (count < function->compiled)
    return NULL;
  return &x->modules.items[x->module_order.items[first + count - function->compiled + nth]];
}

void xplane_compilations_end(struct xplane *x)
{
  for (size_t i = 0; i < x->functions.count; i++)
    x->functions.items[i].module = module_name_of(x, x->functions.items[i].name);
  for (size_t i = 0; i < x->compilations.count; i++) {
    const struct xplane_compilation *compilation = &x->compilations.items[i];
    struct xplane_function *function = &x->functions.items[compilation->function];
    const struct xplane_module *module = module_of(x, function, compilation->nth);
    char id[48];
    int length = snprintf(id, sizeof id, "%u/%u", compilation->function, compilation->nth);
    import_tag_text(x->import, compilation->span_id, x->strings.function, xplane_string(x, function->name));
    import_tag_bytes(x->import, compilation->span_id, x->strings.compile_id, id, (size_t)length);
    if (module != NULL && xplane_text(x, module->signature).length > 0)
      import_tag_text(x->import, compilation->span_id, x->strings.signature, xplane_string(x, module->signature));
    if (module != NULL && compilation->nth > 0) {
      bool is_same = function->parameters_hash == module->parameters_hash;
      import_tag_text(x->import, compilation->span_id, x->strings.reason,
                      import_word(x->import, is_same
                                                 ? "the same shapes: another function object, or other static arguments"
                                                 : "other shapes or types"));
    }
    function->parameters_hash = module != NULL ? module->parameters_hash : 0;
  }
}
