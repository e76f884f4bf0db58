// SPDX-License-Identifier: Apache-2.0
// Schema of format version 1. A change here is a new STORE_FORMAT_VERSION unless it only adds.
#include "store/schema.h"

#include <stddef.h>

// Each with what its constraints make, in the order in which SQLite would make them.
#define TABLE(name, columns) #name, #name, "CREATE TABLE " #name columns, false
#define KEYED_TABLE(name, columns) #name, #name, "CREATE TABLE " #name columns " WITHOUT ROWID", true
#define INDEX(name, table, column) #name, #table, "CREATE INDEX " #name " ON " #table "(" #column ")", true
#define CONSTRAINT(table, number) "sqlite_autoindex_" #table "_" #number, #table, NULL, true
const struct schema_object schema_objects[SCHEMA_OBJECTS] = {
    {TABLE(experiment,
           "(experiment_id INTEGER PRIMARY KEY, name TEXT, workload TEXT, framework TEXT,"
           " framework_version TEXT, command TEXT, created_ns INTEGER, system_id INTEGER, xsp_version TEXT)")},
    {KEYED_TABLE(system, "(system_id INTEGER NOT NULL, key TEXT NOT NULL, value, PRIMARY KEY(system_id, key))")},
    {KEYED_TABLE(workload,
                 "(experiment_id INTEGER NOT NULL, key TEXT NOT NULL, value, PRIMARY KEY(experiment_id, key))")},
    {KEYED_TABLE(evaluation,
                 "(experiment_id INTEGER NOT NULL, key TEXT NOT NULL, value, PRIMARY KEY(experiment_id, key))")},
    {TABLE(output, "(experiment_id INTEGER NOT NULL, item INTEGER NOT NULL, file TEXT, type TEXT, shape TEXT,"
                   " data BLOB NOT NULL, PRIMARY KEY(experiment_id, item))")},
    {CONSTRAINT(output, 1)},
    {TABLE(run, "(run_id INTEGER PRIMARY KEY, experiment_id INTEGER NOT NULL, levels TEXT, batch_size INTEGER,"
                " dropped_count INTEGER NOT NULL, epoch TEXT NOT NULL, layer TEXT, misused_count INTEGER NOT NULL,"
                " own_pct REAL)")},
    {KEYED_TABLE(observation, "(run_id INTEGER NOT NULL, observation INTEGER NOT NULL, span_id INTEGER,"
                              " start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, warmup INTEGER NOT NULL,"
                              " PRIMARY KEY(run_id, observation))")},
    {KEYED_TABLE(track, "(run_id INTEGER NOT NULL, track_id INTEGER NOT NULL, name TEXT, host TEXT, process_id INTEGER,"
                        " thread_id INTEGER, device_id INTEGER, stream_id INTEGER, clock TEXT, rank INTEGER,"
                        " local_rank INTEGER, world_size INTEGER, PRIMARY KEY(run_id, track_id))")},
    {TABLE(log, "(run_id INTEGER NOT NULL, span_id INTEGER, time_ns INTEGER, message TEXT)")},
    {INDEX(log_of_run, log, run_id)},
    {KEYED_TABLE(trace, "(run_id INTEGER NOT NULL, trace_id INTEGER NOT NULL, text TEXT NOT NULL,"
                        " PRIMARY KEY(run_id, trace_id), UNIQUE(run_id, text))")},
    {CONSTRAINT(trace, 2)},
    {TABLE(note, "(run_id INTEGER NOT NULL, key TEXT NOT NULL, value TEXT)")},
    {INDEX(note_of_run, note, run_id)},
    {TABLE(frame, "(frame_id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT, file TEXT, line INTEGER, module TEXT,"
                  " address INTEGER)")},
    {TABLE(context, "(context_id INTEGER PRIMARY KEY, parent_id INTEGER, frame_id INTEGER NOT NULL)")},
    {TABLE(string, "(string_id INTEGER PRIMARY KEY, text TEXT NOT NULL)")},
    {TABLE(chunk,
           "(chunk_id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL, series TEXT NOT NULL,"
           " part INTEGER NOT NULL, \"column\" TEXT NOT NULL, row_count INTEGER NOT NULL, minimum INTEGER NOT NULL,"
           " maximum INTEGER NOT NULL, data BLOB NOT NULL, UNIQUE(run_id, series, part, \"column\"))")},
    {CONSTRAINT(chunk, 1)},
};

#define VALUES COLUMN_OF_VALUES
#define STRINGS COLUMN_OF_STRINGS
#define CONTEXTS COLUMN_OF_CONTEXTS
#define ANY INT64_MIN, INT64_MAX
#define ID 0, INT64_MAX
#define STRING_ID 0, UINT32_MAX
#define BASE_OFFSETS(field) offsetof(struct store_span, field), offsetof(struct store_columns, spans.field)
#define BASE(field) BASE_OFFSETS(field), false
#define BASE_OR_ZERO(field) BASE_OFFSETS(field), true
#define DERIVED(field) 0, offsetof(struct store_columns, derived.field), false
static const struct column_kind span_columns[STORE_COLUMNS] = {
    [STORE_SPAN_ID] = {"span_id", CHUNK_INT64, VALUES, 1, INT64_MAX, BASE(span_id)},
    [STORE_RECORDED_PARENT_ID] = {"recorded_parent_id", CHUNK_INT64, VALUES, ANY, BASE(recorded_parent_id)},
    [STORE_START_NS] = {"start_ns", CHUNK_INT64, VALUES, ANY, BASE(start_ns)},
    [STORE_DURATION_NS] = {"duration_ns", CHUNK_INT64, VALUES, ANY, BASE(duration_ns)},
    [STORE_CORRELATION_ID] = {"correlation_id", CHUNK_INT64, VALUES, ANY, BASE(correlation_id)},
    [STORE_TRACE_ID] = {"trace_id", CHUNK_UINT32, VALUES, 0, UINT32_MAX, BASE(trace_id)},
    [STORE_TRACK_ID] = {"track_id", CHUNK_UINT32, VALUES, 0, UINT32_MAX, BASE(track_id)},
    [STORE_NAME] = {"name", CHUNK_UINT32, STRINGS, STRING_ID, BASE(name)},
    [STORE_CATEGORY] = {"category", CHUNK_UINT32, STRINGS, STRING_ID, BASE(category)},
    [STORE_TRACER] = {"tracer", CHUNK_UINT32, STRINGS, STRING_ID, BASE(tracer)},
    [STORE_LEVEL] = {"level", CHUNK_UINT8, VALUES, 0, XSP_LEVEL_COUNT - 1, BASE(level)},
    [STORE_KIND] = {"kind", CHUNK_UINT8, VALUES, 0, XSP_KIND_EXECUTION, BASE(kind)},
    [STORE_FLAGS] = {"flags", CHUNK_UINT8, VALUES, 0, UINT8_MAX, BASE(flags)},
    [STORE_CONTEXT_ID] = {"context_id", CHUNK_UINT32, CONTEXTS, 0, UINT32_MAX, BASE_OR_ZERO(context_id)},
    [STORE_PARENT_ID] = {"parent_id", CHUNK_INT64, VALUES, ID, DERIVED(parent_id)},
    [STORE_MODEL_ID] = {"model_id", CHUNK_INT64, VALUES, ID, DERIVED(model_id)},
    [STORE_LAYER_ID] = {"layer_id", CHUNK_INT64, VALUES, ID, DERIVED(layer_id)},
    [STORE_SELF_NS] = {"self_ns", CHUNK_INT64, VALUES, ANY, DERIVED(self_ns)},
    [STORE_OBSERVATION] = {"observation", CHUNK_INT64, VALUES, -1, INT32_MAX, DERIVED(observation)},
    [STORE_DEPTH] = {"depth", CHUNK_UINT32, VALUES, 0, UINT32_MAX, DERIVED(depth)},
    [STORE_BASIS] = {"basis", CHUNK_UINT8, VALUES, 0, BASIS_COUNT - 1, DERIVED(basis)},
    [STORE_DERIVED_KIND] = {"derived_kind", CHUNK_UINT8, VALUES, 0, XSP_KIND_EXECUTION, DERIVED(kind)},
    [STORE_FORWARD_ID] = {"forward_id", CHUNK_INT64, VALUES, ID, DERIVED(forward_id)},
};
static const struct column_kind tag_columns[TAG_COLUMNS] = {
    [TAG_SPAN_ID] = {"span_id", CHUNK_INT64, VALUES, ANY, offsetof(struct store_tag, span_id), 0, false},
    [TAG_KEY] = {"key", CHUNK_UINT32, STRINGS, STRING_ID, offsetof(struct store_tag, key), 0, false},
    [TAG_TYPE] = {"type", CHUNK_UINT8, VALUES, STORE_INT, STORE_TEXT, offsetof(struct store_tag, type), 0, false},
    [TAG_VALUE] = {"value", CHUNK_INT64, VALUES, ANY, offsetof(struct store_tag, value), 0, false},
};
#define SAMPLE(field) offsetof(struct store_sample, field), offsetof(struct store_samples, field), false
static const struct column_kind sample_columns[SAMPLE_COLUMNS] = {
    [SAMPLE_TIME_NS] = {"time_ns", CHUNK_INT64, VALUES, ANY, SAMPLE(time_ns)},
    [SAMPLE_DURATION_NS] = {"duration_ns", CHUNK_INT64, VALUES, ID, SAMPLE(duration_ns)},
    [SAMPLE_SPAN_ID] = {"span_id", CHUNK_INT64, VALUES, ID, SAMPLE(span_id)},
    [SAMPLE_TRACK_ID] = {"track_id", CHUNK_UINT32, VALUES, 0, UINT32_MAX, SAMPLE(track_id)},
    [SAMPLE_CONTEXT_ID] = {"context_id", CHUNK_UINT32, CONTEXTS, 0, UINT32_MAX, SAMPLE(context_id)},
    [SAMPLE_KIND] = {"kind", CHUNK_UINT8, VALUES, SAMPLE_CPU, SAMPLE_CHILD, SAMPLE(kind)},
};

const struct series_kind store_series_kinds[SERIES_COUNT] = {
    [SERIES_SPAN] = {"span", span_columns, STORE_COLUMNS, STORE_BASE_COLUMNS, sizeof(struct store_span)},
    [SERIES_TAG] = {"tag", tag_columns, TAG_COLUMNS, TAG_COLUMNS, sizeof(struct store_tag)},
    [SERIES_SAMPLE] = {"sample", sample_columns, SAMPLE_COLUMNS, SAMPLE_COLUMNS, sizeof(struct store_sample)},
};
