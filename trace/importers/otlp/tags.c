// SPDX-License-Identifier: Apache-2.0
// The parts of a span that are not columns: attributes and fields without a column become tags, links one tag, events
// messages. Called by spans.c for every span.
#include "importers/otlp/join.h"

// ---- tags ------------------------------------------------------------------------------------------------------------
static void tag_text(struct otlp_model *model, int64_t span_id, const char *key, struct slice text)
{
  import_tag_text(model->import, span_id, import_word(model->import, key), import_slice(model->import, text));
}

static enum status put_tags(struct otlp_model *model, int64_t span_id, struct error *err)
{
  struct import *import = model->import;
  for (size_t i = 0; i < model->tags.count; i++) {
    const struct otlp_value *value = model->tags.items[i].value;
    uint32_t key = model->tags.items[i].key;
    const char *text;
    if (value->type == OTLP_INT || value->type == OTLP_BOOL) {
      import_tag_int(import, span_id, key, value->integer);
    } else if (value->type == OTLP_DOUBLE) {
      import_tag_double(import, span_id, key, value->real);
    } else if (value->type == OTLP_TEXT) {
      import_tag_text(import, span_id, key, import_slice(import, value->text));
    } else {
      XSP_TRY(import_otlp_model_text(model, value, &text, err));
      import_tag_text(import, span_id, key, import_string(import, text, model->text.length));
    }
  }
  return STATUS_OK;
}

// What OTLP has fields for and a trace has not.
static void put_field_tags(struct otlp_model *model, int64_t span_id, const struct otlp_span *span)
{
  static const char *const kinds[] = {NULL, NULL, "server", "client", "producer", "consumer"};
  static const char *const codes[] = {NULL, "OK", "ERROR"};
  const char *kind = span->kind < sizeof kinds / sizeof kinds[0] ? kinds[span->kind] : NULL;
  const char *code = span->status_code < sizeof codes / sizeof codes[0] ? codes[span->status_code] : NULL;
  if (kind != NULL)
    tag_text(model, span_id, OTLP_TAG_SPAN_KIND, (struct slice){kind, strlen(kind)});
  if (code != NULL)
    tag_text(model, span_id, OTLP_TAG_STATUS_CODE, (struct slice){code, strlen(code)});
  if (span->status_message.length > 0)
    tag_text(model, span_id, OTLP_TAG_STATUS_MESSAGE, span->status_message);
  if (span->trace_state.length > 0)
    tag_text(model, span_id, OTLP_TAG_TRACE_STATE, span->trace_state);
}

static enum status broken_inner(struct otlp_model *model, const char *problem, struct error *err)
{
  const struct input *input = model->import->input;
  return import_broken(model->import, err, input_offset(input, input->at), "%s", problem);
}

static enum status put_links(struct otlp_model *model, int64_t span_id, const struct otlp_span *span, struct error *err)
{
  struct buf *out = &model->text;
  if (span->link_count == 0)
    return STATUS_OK;
  buf_clear(out);
  for (size_t i = 0; i < span->link_count; i++) {
    const struct otlp_link *link = &span->links[i];
    buf_text(out, i == 0 ? "[{\"traceId\":" : ",{\"traceId\":");
    if (span->is_json) {
      otlp_text_json(link->trace_id, out);
    } else {
      buf_text(out, "\"");
      for (size_t j = 0; j < link->trace_id.length; j++)
        buf_format(out, "%02x", (unsigned char)link->trace_id.data[j]);
      buf_text(out, "\"");
    }
    buf_format(out, ",\"spanId\":\"%016llx\"", (unsigned long long)link->span_id.number);
    if (link->attributes.count > 0) {
      buf_text(out, ",\"attributes\":");
      const char *problem =
          otlp_attributes_text(&span->inner[link->attributes.first], link->attributes.count, model->unknown, out);
      if (problem != NULL)
        return broken_inner(model, problem, err);
    }
    buf_text(out, "}");
  }
  buf_text(out, "]");
  if (out->failed)
    return import_too_many_texts(model->import, err);
  tag_text(model, span_id, OTLP_TAG_LINKS, (struct slice){out->data, out->length});
  return STATUS_OK;
}

static bool is_time(const struct otlp_attribute *attribute)
{
  return attribute->value.type == OTLP_INT && slice_is(attribute->key, OTLP_EVENT_TIME_NS);
}

// An event's message is its name, and its attributes as JSON where it has any.
static enum status put_events(struct otlp_model *model, int64_t span_id, const struct otlp_span *span,
                              struct error *err)
{
  struct buf *out = &model->text;
  for (size_t i = 0; i < span->event_count; i++) {
    const struct otlp_event *event = &span->events[i];
    const struct otlp_attribute *first = event->attributes.count > 0 ? &span->inner[event->attributes.first] : NULL;
    int64_t time_ns = event->time_ns;
    size_t count = event->attributes.count;
    if (count == 1 && is_time(first)) { // before the epoch: no field holds it
      time_ns = first->value.integer;
      count = 0;
    }
    time_ns = import_otlp_join_time(model->resource->source, time_ns);
    buf_clear(out);
    buf_put(out, event->name.data, event->name.length);
    if (count > 0) {
      buf_text(out, event->name.length > 0 ? " " : "");
      const char *problem = otlp_attributes_text(first, count, model->unknown, out);
      if (problem != NULL)
        return broken_inner(model, problem, err);
    }
    if (out->failed)
      return import_too_many_texts(model->import, err);
    XSP_TRY(import_log(model->import, span_id, time_ns, out->data != NULL ? out->data : "", out->length, err));
  }
  return STATUS_OK;
}

enum status import_otlp_put_parts(struct otlp_model *model, int64_t span_id, const struct otlp_span *span,
                                  struct error *err)
{
  XSP_TRY(put_tags(model, span_id, err));
  put_field_tags(model, span_id, span);
  XSP_TRY(put_links(model, span_id, span, err));
  return put_events(model, span_id, span, err);
}
