// SPDX-License-Identifier: Apache-2.0
// Writes the queries. Called by fetch.c. Every query begins with the table expression `rows`: the selected spans, with the
// columns that the others are made of. Names and values from the address are quoted here.
#include "clickhouse/sql_private.h"

#include <inttypes.h>
#include <string.h>

// What the queries ask of spans. A table that has these columns, with "xsp_" before their names, is asked for them: reading maps takes
// most of the time. docs/clickhouse.md has the statement that adds them. A run's number is of its experiment and its xsp.run; where
// there is none, of all that its resource says.
static const struct {
  const char *name, *expression;
} columns[] = {
    {"run", "cityHash64(ResourceAttributes['xsp.experiment'], ResourceAttributes['xsp.experiment_id'], "
            "ResourceAttributes['xsp.created_ns'], ResourceAttributes['xsp.run'], ResourceAttributes['xsp.trace_id'], "
            "if(ResourceAttributes['xsp.run'] = '', toString(ResourceAttributes), ''))"},
    {"id", "reinterpretAsUInt64(reverse(unhex(SpanId)))"},
    {"parent", "reinterpretAsUInt64(reverse(unhex(ParentSpanId)))"},
    {"level", "SpanAttributes['xsp.level']"},
    {"kind", "SpanAttributes['xsp.kind']"},
    {"category", "SpanAttributes['xsp.category']"},
    {"is_open", "SpanAttributes['xsp.open'] NOT IN ('', 'false')"},
    {"is_observation", "mapContains(SpanAttributes, 'xsp.observation')"},
    {"is_foreign", "NOT mapContains(SpanAttributes, 'xsp.basis')"},
    {"has_metrics", "position(ResourceAttributes['xsp.levels'], 'metrics') > 0"},
};

// ---- texts -----------------------------------------------------------------------------------------------------------
static void put_quoted(struct buf *sql, char quote, const char *text)
{
  buf_put(sql, &quote, 1);
  for (; *text != 0; text++) {
    unsigned char byte = (unsigned char)*text;
    if (byte == '\\' || byte == (unsigned char)quote)
      buf_format(sql, "\\%c", byte);
    else if (byte < ' ' || byte == 0x7f)
      buf_format(sql, "\\x%02x", byte);
    else
      buf_put(sql, text, 1);
  }
  buf_put(sql, &quote, 1);
}

static void put_time(struct buf *sql, const char *comparison, const char *time)
{
  if (time == NULL)
    return;
  buf_format(sql, " AND Timestamp %s parseDateTime64BestEffort(", comparison);
  put_quoted(sql, '\'', time);
  buf_text(sql, ", 9, 'UTC')");
}

// OTLP's exporter stores all values as texts. Numbers become numbers again, but for what is a text by definition: a process group is "0",
// a module of nn.Sequential, too.
static const char texts_of_spans[] =
    "k IN ('xsp.layer_type', 'xsp.layer_shape', 'xsp.provider', 'xsp.track_name', 'xsp.category', 'xsp.tracer', "
    "'xsp.host', 'xsp.clock', 'module', 'operator', 'source_layers', 'group', 'Process Group Name', 'model', "
    "'function', 'file')";
static const char texts_of_resources[] = "(k NOT LIKE 'xsp.system.%' AND k NOT LIKE 'xsp.model.%' AND k NOT IN "
                                         "('xsp.own_pct', 'xsp.unique_ids')) OR k LIKE '%version%'";

// A map of texts as a list of attributes.
static void put_attributes(struct buf *sql, const char *map, const char *are_texts)
{
  buf_format(sql,
             "arrayStringConcat(arrayMap((k, v) -> concat('{\"key\":', toJSONString(k), ',\"value\":{', multiIf("
             "%s, concat('\"stringValue\":', toJSONString(v)), "
             "match(v, '^(0|-?[1-9][0-9]{0,17})$'), concat('\"intValue\":\"', v, '\"'), "
             "match(v, '^-?(0|[1-9][0-9]*)([.][0-9]+)?(e[-+]?[0-9]+)?$'), concat('\"doubleValue\":', v), "
             "v IN ('true', 'false') AND k IN ('xsp.open', 'xsp.remote_parent', 'xsp.unique_ids', 'xsp.warmup', "
             "'xsp.observation'), concat('\"boolValue\":', v), "
             "concat('\"stringValue\":', toJSONString(v))), '}}'), mapKeys(%s), mapValues(%s)), ',')",
             are_texts, map, map);
}

// A note of how many spans a run has, which may not all come back (0: they do); a part of the resource's attributes.
static void put_span_note(const struct reply_runs *runs, struct buf *sql)
{
  buf_text(sql,
           ", ',{\"key\":\"xsp.note." TRACE_NOTE_SPANS "\",\"value\":{\"stringValue\":\"', toString(transform(run, [");
  for (size_t i = 0; i < runs->runs.count; i++)
    buf_format(sql, "%s%" PRIu64, i > 0 ? "," : "", runs->runs.items[i].run);
  buf_text(sql, "], [");
  for (size_t i = 0; i < runs->runs.count; i++)
    buf_format(sql, "%s%" PRId64, i > 0 ? "," : "", runs->runs.items[i].is_repeated ? 0 : runs->runs.items[i].spans);
  buf_text(sql, "], 0)), '\"}}'");
}

// `counted`: NULL, or the runs, where some do not come back in full.
static void put_request(struct buf *sql, const char *resource, const char *spans, const struct reply_runs *counted)
{
  buf_text(sql, "concat('{\"resourceSpans\":[{\"resource\":{\"attributes\":[', ");
  put_attributes(sql, resource, texts_of_resources);
  if (counted != NULL)
    put_span_note(counted, sql);
  buf_format(sql, ", ']},\"scopeSpans\":[{\"scope\":{\"name\":\"xsp\"},\"spans\":[', %s, ']}]}]}') AS line", spans);
}

// ---- table expressions -----------------------------------------------------------------------------------------------
static void sql_put_rows(const struct clickhouse_address *address, struct buf *sql)
{
  buf_text(sql, "rows AS (SELECT ");
  for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
    buf_format(sql, "%s%s AS %s, ", address->has_columns ? "xsp_" : "",
               address->has_columns ? columns[i].name : columns[i].expression, columns[i].name);
  buf_text(sql, "concat(SpanAttributes['xsp.host'], ' ', SpanAttributes['xsp.process_id']) AS process, "
                "toUnixTimestamp64Nano(Timestamp) AS start_ns, toInt64(Duration) AS duration_ns, TraceId, SpanId, "
                "ParentSpanId, SpanName, SpanAttributes, ResourceAttributes FROM ");
  put_quoted(sql, '`', address->database);
  buf_text(sql, ".");
  put_quoted(sql, '`', address->table);
  buf_text(sql, " WHERE true");
  if (address->experiment != NULL) {
    buf_text(sql, " AND ResourceAttributes['xsp.experiment'] = ");
    put_quoted(sql, '\'', address->experiment);
  }
  put_time(sql, ">=", address->from);
  put_time(sql, "<", address->to);
  buf_text(sql, ")");
}

static void put_without(const struct reply_runs *runs, struct buf *sql)
{
  if (runs->runs.count == 0)
    return;
  buf_text(sql, " AND run NOT IN ");
  sql_put_runs(runs, sql);
}

// The spans that may be others' parents: `nodes`, with further columns.
static void put_nodes(const char *others, const struct reply_runs *whole, struct buf *sql)
{
  buf_format(sql, ", nodes AS (SELECT run, id, parent%s FROM rows WHERE level != 'kernel'", others);
  put_without(whole, sql);
  buf_text(sql, ")");
}

// A step up takes as long as a look at all nodes, and stacks are seldom half as deep.
#define DEPTH_MOST "128"
#define NEXT_DEPTH "c.depth + 1 + throwIf(c.depth = " DEPTH_MOST ", '" SQL_DEEP "')"

// The way up ends at the observation.
static void sql_put_observations(const struct reply_runs *whole, struct buf *sql)
{
  put_nodes(", if(is_observation, id, 0) AS observation", whole, sql);
  buf_text(sql, ", chain AS (SELECT run, id, parent AS above, observation, 0 AS depth FROM nodes UNION ALL "
                "SELECT c.run, c.id, n.parent, n.observation, " NEXT_DEPTH " FROM chain AS c INNER JOIN nodes AS n "
                "ON n.run = c.run AND n.id = c.above WHERE c.above != 0 AND c.observation = 0)"
                ", ancestors AS (SELECT run, id, observation FROM chain WHERE observation != 0)");
}

// The same, and the nearest layer that it is in or is (0: none), and the layer that this one counts as (`layer_mode`; NULL: the run's
// own).
static void sql_put_ancestors(const char *layer_mode, const struct reply_runs *whole, struct buf *sql)
{
  buf_text(sql, ", modes AS (SELECT run, any(");
  if (layer_mode != NULL)
    put_quoted(sql, '\'', layer_mode);
  else
    buf_text(sql, "ResourceAttributes['xsp.layer']");
  buf_text(sql, ") AS mode FROM rows WHERE is_observation GROUP BY run)");
  put_nodes(", if(is_observation, id, 0) AS observation, if(level = 'layer', id, 0) AS layer, "
            "if(level = 'layer' AND category = 'module', id, 0) AS module",
            whole, sql);
  buf_text(sql,
           ", chain AS (SELECT run, id, parent AS above, observation, layer, module, layer AS outermost, 0 AS depth "
           "FROM nodes UNION ALL SELECT c.run, c.id, n.parent, if(c.observation != 0, c.observation, "
           "n.observation), if(c.layer != 0, c.layer, n.layer), if(c.module != 0, c.module, n.module), "
           "if(n.layer != 0, n.layer, c.outermost), " NEXT_DEPTH " FROM chain AS c "
           "INNER JOIN nodes AS n ON n.run = c.run AND n.id = c.above WHERE c.above != 0)"
           ", ancestors AS (SELECT c.run AS run, c.id AS id, max(c.observation) AS observation, "
           "max(c.layer) AS layer, multiIf(any(m.mode) IN ('innermost', 'all'), max(c.layer), "
           "any(m.mode) = 'module', max(c.module), argMax(c.outermost, c.depth)) AS counted "
           "FROM chain AS c INNER JOIN modes AS m ON m.run = c.run GROUP BY c.run, c.id)");
}

void sql_put_runs(const struct reply_runs *runs, struct buf *sql)
{
  buf_text(sql, "(");
  for (size_t i = 0; i < runs->runs.count; i++)
    buf_format(sql, "%s%" PRIu64, i > 0 ? "," : "", runs->runs.items[i].run);
  buf_text(sql, runs->runs.count > 0 ? ")" : "0)");
}

// ---- queries ---------------------------------------------------------------------------------------------------------
void sql_columns(const struct clickhouse_address *address, struct buf *sql)
{
  buf_text(sql, "DESCRIBE TABLE ");
  put_quoted(sql, '`', address->database);
  buf_text(sql, ".");
  put_quoted(sql, '`', address->table);
  buf_text(sql, " FORMAT TSVRaw");
}

bool sql_has_columns(struct slice description)
{
  size_t found = 0;
  struct slice line, name;
  while (description.length > 0 && slice_cut(&description, '\n', &line)) {
    slice_cut(&line, '\t', &name);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0] && slice_starts_with(name, "xsp_"); i++)
      found += slice_is(slice_after(name, strlen("xsp_")), columns[i].name);
  }
  return found == sizeof columns / sizeof columns[0];
}

// Of ids that follow each other, 64 are one group, whose bits are counted: a set of all ids takes three times as long.
void sql_runs(const struct clickhouse_address *address, bool finds_repeated, struct buf *sql)
{
  buf_text(sql, "WITH ");
  sql_put_rows(address, sql);
  buf_format(
      sql,
      " SELECT run, sum(spans), sum(observations), sum(others), max(metrics), max(spans != ids) FROM (SELECT run, "
      "%s AS part, count() AS spans, countIf(is_observation) AS observations, countIf(is_foreign) AS others, "
      "max(has_metrics) AS metrics, %s AS ids FROM rows GROUP BY run, part) GROUP BY run ORDER BY run "
      "FORMAT TSVRaw",
      finds_repeated ? "bitShiftRight(id, 6)" : "0",
      finds_repeated ? "bitCount(groupBitOr(bitShiftLeft(toUInt64(1), bitAnd(id, 63))))" : "count()");
}

void sql_runs_with_loose_kernels(const struct sql_question *question, struct buf *sql)
{
  buf_text(sql, "WITH RECURSIVE ");
  sql_put_rows(question->address, sql);
  sql_put_observations(question->whole, sql);
  buf_text(sql, " SELECT run, count(), 0, 0, 0, 0 FROM rows WHERE level = 'kernel' AND kind != 'launch' AND "
                "category IN ('kernel', 'memcpy', 'memset', '') AND (run, parent) NOT IN "
                "(SELECT run, id FROM ancestors)");
  put_without(question->whole, sql);
  buf_text(sql, " GROUP BY run FORMAT TSVRaw");
}

void sql_runs_that_are_deep(const struct sql_question *question, struct buf *sql)
{
  buf_text(sql, "WITH RECURSIVE ");
  sql_put_rows(question->address, sql);
  put_nodes("", question->whole, sql);
  buf_text(sql, ", chain AS (SELECT run, id, parent AS above, 0 AS depth FROM nodes UNION ALL "
                "SELECT c.run, c.id, n.parent, c.depth + 1 FROM chain AS c INNER JOIN nodes AS n "
                "ON n.run = c.run AND n.id = c.above WHERE c.above != 0 AND c.depth < " DEPTH_MOST ") "
                "SELECT run, count(), 0, 0, 0, 0 FROM chain WHERE depth = " DEPTH_MOST " GROUP BY run FORMAT TSVRaw");
}

// The spans of which kernels that are added up are parts; and kernels that are in no observation by their parents.
static void put_levels(const struct sql_question *question, struct buf *sql)
{
  buf_text(sql, trace_detail_is_without_layers(question->detail) ? " WHERE (level = 'model'"
                                                                 : " WHERE (level NOT IN ('kernel', 'library') OR "
                                                                   "(level = 'library' AND category = 'collective')");
  if (question->loose->runs.count > 0) {
    buf_text(sql, " OR (level = 'kernel' AND (kind = 'launch' OR category IN ('kernel', 'memcpy', 'memset', '')) AND "
                  "(run, parent) NOT IN (SELECT run, id FROM ancestors WHERE observation != 0) AND run IN ");
    sql_put_runs(question->loose, sql);
    buf_text(sql, ")");
  }
  buf_text(sql, " OR run IN ");
  sql_put_runs(question->whole, sql);
  buf_text(sql, ")");
}

// Of all runs, about: an observation's ids follow each other.
static int64_t spans_of_observation(const struct sql_question *question)
{
  int64_t spans = 0, observations = 0;
  for (size_t i = 0; i < question->runs->runs.count; i++) {
    spans += question->runs->runs.items[i].spans;
    observations += question->runs->runs.items[i].observations;
  }
  return observations > 0 && spans > observations ? spans / observations : 1;
}

// How many ids a request is of, so that it has some hundred spans: those that come back are a part of all ids.
static void put_part(const struct sql_question *question, struct buf *sql)
{
  bool is_sparse = trace_detail_is_without_layers(question->detail);
  buf_text(sql, "intDiv(id, if(run IN ");
  sql_put_runs(question->detail != TRACE_EVERYTHING ? question->whole : question->runs, sql);
  buf_format(sql, ", 512, %" PRId64 ")) AS part, ", is_sparse ? 512 * spans_of_observation(question) : 4096);
}

void sql_spans(const struct sql_question *question, struct buf *sql)
{
  enum trace_detail detail = question->detail;
  static const char head[] =
      "concat('{\"traceId\":', toJSONString(TraceId), ',\"spanId\":', toJSONString(SpanId), if(ParentSpanId = '', '', "
      "concat(',\"parentSpanId\":', toJSONString(ParentSpanId))), ',\"name\":', toJSONString(SpanName), "
      "',\"kind\":1,\"startTimeUnixNano\":\"', toString(greatest(start_ns, 0)), '\",\"endTimeUnixNano\":\"', "
      "toString(greatest(start_ns + duration_ns, 0)), '\",\"attributes\":[', ";
  bool has_facts = trace_detail_has_devices(detail);
  bool has_loose = question->loose->runs.count > 0;
  buf_text(sql, has_facts || has_loose ? "WITH RECURSIVE " : "WITH ");
  sql_put_rows(question->address, sql);
  if (has_facts)
    sql_put_ancestors(question->layer_mode, question->whole, sql);
  else if (has_loose)
    sql_put_observations(question->whole, sql);
  if (has_facts)
    sql_put_device_facts(question->whole, !trace_detail_is_without_layers(detail), sql);
  buf_text(sql, " SELECT line FROM (SELECT any(ResourceAttributes) AS resource, ");
  put_part(question, sql);
  put_request(sql, "resource", "arrayStringConcat(arrayMap(t -> t.2, arraySort(groupArray((id, span)))), ',')",
              detail == TRACE_EVERYTHING ? NULL : question->runs);
  buf_text(sql, " FROM (SELECT s.run AS run, s.id AS id, ResourceAttributes, ");
  buf_text(sql, head);
  put_attributes(sql, "SpanAttributes", texts_of_spans);
  buf_text(sql,
           has_facts ? ", f.text, ']}') AS span FROM (SELECT * FROM rows" : ", ']}') AS span FROM (SELECT * FROM rows");
  if (detail != TRACE_EVERYTHING)
    put_levels(question, sql);
  buf_text(sql, has_facts ? ") AS s LEFT JOIN facts AS f ON f.run = s.run AND f.id = s.id" : ") AS s");
  buf_text(
      sql,
      ") GROUP BY run, part ORDER BY toInt64OrZero(resource['xsp.created_ns']), "
      "toInt64OrZero(resource['xsp.experiment_id']), toInt64OrZero(resource['xsp.run']), run, part) FORMAT TSVRaw");
}

// A span that stands for the kernels of a group, below `above`.
static void put_sum_of_kernels(const char *name, struct buf *sql)
{
  buf_text(sql, "concat('{\"traceId\":', toJSONString(any(k.TraceId)), "
                "',\"spanId\":\"', leftPad(lower(hex(min(k.id))), 16, '0'), "
                "'\",\"parentSpanId\":\"', leftPad(lower(hex(above)), 16, '0'), ");
  buf_format(sql, "'\",\"name\":', toJSONString(%s), ", name);
  buf_text(sql, "',\"kind\":1,\"startTimeUnixNano\":\"', toString(greatest(min(k.start_ns), 0)), "
                "'\",\"endTimeUnixNano\":\"', toString(greatest(min(k.start_ns), 0) + sum(k.duration_ns)), "
                "'\",\"attributes\":[{\"key\":\"xsp.level\",\"value\":{\"stringValue\":\"kernel\"}},"
                "{\"key\":\"xsp.basis\",\"value\":{\"stringValue\":\"explicit\"}},"
                "{\"key\":\"xsp.kind\",\"value\":{\"stringValue\":', toJSONString(k.kind), '}},"
                "{\"key\":\"xsp.category\",\"value\":{\"stringValue\":', toJSONString(k.category), '}},', "
                "if(NOT k.is_open, '', '{\"key\":\"xsp.open\",\"value\":{\"boolValue\":true}},'), "
                "'{\"key\":\"xsp.tag.condensed_calls\",\"value\":{\"intValue\":\"', toString(count()), '\"}}]}')");
}

void sql_kernels(const struct sql_question *question, bool refuses_loose, struct buf *sql)
{
  bool is_by_name = question->detail == TRACE_KERNELS_BY_NAME;
  bool is_by_layer = !trace_detail_is_without_layers(question->detail);
  buf_text(sql, "WITH RECURSIVE ");
  sql_put_rows(question->address, sql);
  if (is_by_layer)
    sql_put_ancestors(question->layer_mode, question->whole, sql);
  else
    sql_put_observations(question->whole, sql);
  buf_text(
      sql,
      ", resources AS (SELECT run, any(ResourceAttributes) AS resource FROM rows WHERE is_observation GROUP BY run) "
      "SELECT line FROM (SELECT g.run AS run, any(r.resource) AS resource, ");
  buf_format(sql, "intDiv(g.observation, %" PRId64 ") AS part, ",
             (is_by_layer ? 4 : 32) * spans_of_observation(question));
  put_request(sql, "resource", "arrayStringConcat(arrayMap(t -> t.2, arraySort(groupArray((g.first, g.span)))), ',')",
              question->runs);
  buf_format(sql, " FROM (SELECT k.run AS run, a.observation AS observation, %s AS above, min(k.id) AS first, ",
             is_by_layer ? "if(a.layer != 0, a.layer, a.observation)" : "a.observation");
  put_sum_of_kernels(is_by_name ? "k.SpanName" : "''", sql);
  buf_format(
      sql,
      " AS span FROM rows AS k %s JOIN ancestors AS a ON a.run = k.run AND a.id = k.parent "
      "WHERE %s AND k.level = 'kernel' AND k.kind != 'launch' AND k.category IN ('kernel', '') AND k.run NOT IN ",
      refuses_loose ? "LEFT ANY" : "INNER",
      refuses_loose ? "throwIf(a.observation = 0, '" SQL_LOOSE "') = 0" : "a.observation != 0");
  sql_put_runs(question->whole, sql);
  buf_format(sql,
             " GROUP BY run, observation, above, k.category, k.kind, k.is_open%s) AS g "
             "INNER JOIN resources AS r ON r.run = g.run GROUP BY g.run, part ORDER BY run, part) "
             "FORMAT TSVRaw",
             is_by_name ? ", k.SpanName" : "");
}
