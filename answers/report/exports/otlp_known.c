// SPDX-License-Identifier: Apache-2.0
// Attributes of spans, encoded once where many have them; see otlp_known.h. Called by otlp.c.
#include "report/exports/otlp_known.h"

#include "otlp/attributes.h"

#define SPAN OTLP_SPAN_ATTRIBUTES
enum { KNOWN_KIND, KNOWN_TRACER, KNOWN_TRACK, KNOWN_KEY };

static void put_string(struct otlp_known *attributes, enum otlp_role role, uint32_t string)
{
  struct slice text;
  text.data = store_text(attributes->store, string, &text.length);
  otlp_out_attribute(attributes->out, SPAN, "", slice_of(otlp_role_attribute(role)), otlp_value_of_text(text));
}

// Those that follow from `number`.
static void put_known(struct otlp_known *attributes, uint64_t what, uint64_t number,
                      void (*put_anew)(struct otlp_known *attributes, uint64_t number))
{
  const struct map_key key = {number, what};
  struct buf *buf = attributes->out->buf;
  struct slice bytes;
  if (pieces_find(&attributes->pieces, key, &bytes)) {
    otlp_out_written(attributes->out, bytes);
    return;
  }
  size_t start = buf->length;
  put_anew(attributes, number);
  if (buf->failed)
    return;
  start += attributes->out->is_json && buf->data[start] == ',';
  pieces_add(&attributes->pieces, key, (struct slice){buf->data + start, buf->length - start});
}

static void put_kind(struct otlp_known *attributes, uint64_t number) // category, level, kind
{
  unsigned level = number >> 8 & 0xff;
  uint32_t category = (uint32_t)(number >> 16);
  otlp_put_text(attributes->out, SPAN, otlp_role_attribute(OTLP_IS_LEVEL), level_name(level));
  otlp_put_text(attributes->out, SPAN, otlp_role_attribute(OTLP_IS_KIND), kind_name(number & 0xff));
  if (category != 0 || level == XSP_LEVEL_KERNEL) // without one, readers assume "kernel"
    put_string(attributes, OTLP_IS_CATEGORY, category);
}

void otlp_known_put_kind(struct otlp_known *attributes, unsigned level, unsigned kind, uint32_t category)
{
  put_known(attributes, KNOWN_KIND, (uint64_t)category << 16 | (uint64_t)level << 8 | kind, put_kind);
}

static void put_tracer(struct otlp_known *attributes, uint64_t number) // tracer, basis + 1
{
  unsigned basis = number & 0xff;
  put_string(attributes, OTLP_IS_TRACER, (uint32_t)(number >> 8));
  if (basis != 0)
    otlp_put_text(attributes->out, SPAN, otlp_role_attribute(OTLP_IS_BASIS), basis_name(basis - 1));
}

void otlp_known_put_tracer(struct otlp_known *attributes, uint32_t tracer, int basis)
{
  put_known(attributes, KNOWN_TRACER, (uint64_t)tracer << 8 | (unsigned)(basis + 1), put_tracer);
}

static void put_track(struct otlp_known *attributes, uint64_t number)
{
  struct otlp_out *out = attributes->out;
  const struct store_track *track = otlp_facts_track(attributes->facts, (uint32_t)number);
  otlp_put_int(out, SPAN, otlp_role_attribute(OTLP_IS_TRACK), (int64_t)number);
  if (track == NULL)
    return;
  otlp_put_text(out, SPAN, otlp_role_attribute(OTLP_IS_TRACK_NAME), track->name);
  otlp_put_text(out, SPAN, otlp_role_attribute(OTLP_IS_HOST), track->host);
  otlp_put_text(out, SPAN, otlp_role_attribute(OTLP_IS_CLOCK), track->clock);
  otlp_put_int(out, SPAN, otlp_role_attribute(OTLP_IS_PROCESS), track->process_id);
  otlp_put_int(out, SPAN, otlp_role_attribute(OTLP_IS_THREAD), track->thread_id);
  otlp_put_int(out, SPAN, otlp_role_attribute(OTLP_IS_DEVICE), track->device_id);
  otlp_put_int(out, SPAN, otlp_role_attribute(OTLP_IS_STREAM), track->stream_id);
  otlp_put_int(out, SPAN, otlp_role_attribute(OTLP_IS_RANK), track->rank.rank);
  otlp_put_int(out, SPAN, otlp_role_attribute(OTLP_IS_LOCAL_RANK), track->rank.local_rank);
  otlp_put_int(out, SPAN, otlp_role_attribute(OTLP_IS_WORLD_SIZE), track->rank.world_size);
}

void otlp_known_put_track(struct otlp_known *attributes, uint32_t track_id)
{
  if (track_id != 0)
    put_known(attributes, KNOWN_TRACK, track_id, put_track);
}

// ---- tags ------------------------------------------------------------------------------------------------------------
// As it is written. Valid until the next call.
static struct slice key_of(struct otlp_known *attributes, uint32_t string)
{
  const struct map_key number = {string, KNOWN_KEY};
  struct buf *scratch = &attributes->out->key;
  struct slice key, bytes;
  if (pieces_find(&attributes->pieces, number, &bytes))
    return bytes;
  key.data = store_text(attributes->store, string, &key.length);
  buf_clear(scratch);
  otlp_out_key(attributes->out, otlp_tag_prefix(key), key, scratch);
  attributes->out->buf->failed |= scratch->failed;
  bytes = (struct slice){scratch->data, scratch->length};
  pieces_add(&attributes->pieces, number, bytes);
  return bytes;
}

static struct otlp_value value_of(struct store *store, const struct store_tag *tag)
{
  struct slice text;
  if (tag->type == STORE_INT)
    return otlp_value_of_int(tag->value.integer);
  if (tag->type == STORE_DOUBLE)
    return otlp_value_of_double(tag->value.real);
  text.data = store_text(store, tag->value.string, &text.length);
  return otlp_value_of_text(text);
}

void otlp_known_put_tags(struct otlp_known *attributes, int64_t span_id)
{
  const struct store_tag *tags = attributes->facts->tags;
  size_t count = attributes->facts->tag_count, at = attributes->tag_at;
  bool is_next =
      at <= count && (at == 0 || tags[at - 1].span_id < span_id) && (at == count || tags[at].span_id >= span_id);
  for (at = is_next ? at : otlp_facts_first_tag(attributes->facts, span_id); at < count && tags[at].span_id == span_id;
       at++)
    otlp_out_attribute_of(attributes->out, SPAN, key_of(attributes, tags[at].key),
                          value_of(attributes->store, &tags[at]));
  attributes->tag_at = at;
}
