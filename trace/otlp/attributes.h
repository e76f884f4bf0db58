// SPDX-License-Identifier: Apache-2.0
// A trace as OTLP: the attributes that carry what OTLP has no field for. Shared by the importer and the export. What each
// attribute means: docs/otlp.md. Pure.
#ifndef XSP_OTLP_ATTRIBUTES_H
#define XSP_OTLP_ATTRIBUTES_H

#include "base/slice.h"

// ---- attributes of spans ---------------------------------------------------------------------------------------------
// X(role, attribute)
#define OTLP_SPAN_ATTRIBUTE_LIST(X)                                                                                    \
  X(LEVEL, "xsp.level")                                                                                                \
  X(KIND, "xsp.kind")                                                                                                  \
  X(CATEGORY, "xsp.category")                                                                                          \
  X(CORRELATION, "xsp.correlation_id")                                                                                 \
  X(TRACER, "xsp.tracer")                                                                                              \
  X(BASIS, "xsp.basis")                                                                                                \
  X(TRACK, "xsp.track")                                                                                                \
  X(TRACK_NAME, "xsp.track_name")                                                                                      \
  X(HOST, "xsp.host")                                                                                                  \
  X(PROCESS, "xsp.process_id")                                                                                         \
  X(THREAD, "xsp.thread_id")                                                                                           \
  X(DEVICE, "xsp.device_id")                                                                                           \
  X(STREAM, "xsp.stream_id")                                                                                           \
  X(RANK, "xsp.rank")                                                                                                  \
  X(LOCAL_RANK, "xsp.local_rank")                                                                                      \
  X(WORLD_SIZE, "xsp.world_size")                                                                                      \
  X(CLOCK, "xsp.clock")                                                                                                \
  X(OBSERVATION, "xsp.observation")                                                                                    \
  X(OPEN, "xsp.open")                                                                                                  \
  X(START, "xsp.start_ns")                                                                                             \
  X(END, "xsp.end_ns")                                                                                                 \
  X(TRACE, "xsp.trace")                                                                                                \
  X(REMOTE_PARENT, "xsp.remote_parent")

enum otlp_role {
  OTLP_IS_TAG, // under the key that otlp_span_role hands out
#define X(role, attribute) OTLP_IS_##role,
  OTLP_SPAN_ATTRIBUTE_LIST(X)
#undef X
      OTLP_ROLE_COUNT,
};
const char *otlp_role_attribute(enum otlp_role role); // NULL for OTLP_IS_TAG

// What an attribute of a span means. OTLP_IS_TAG: *ret_tag is the tag's key, a part of `key` (a well-known tag
// without its "xsp.", any other attribute as it is, what follows "xsp.tag." as it is).
enum otlp_role otlp_span_role(struct slice key, struct slice *ret_tag);
// The prefix of a tag's key so that otlp_span_role gives the tag back: "", "xsp." or "xsp.tag.".
const char *otlp_tag_prefix(struct slice key);
// A hardware metric: a run whose kernels have one is a run with metrics.
bool otlp_is_metric(struct slice tag);

// Attributes without "xsp." that say more than a tag.
#define OTLP_THREAD_ID "thread.id"
#define OTLP_THREAD_NAME "thread.name"
#define OTLP_SERVICE_NAME "service.name" // of a resource; what is exported has xsp.experiment's
#define OTLP_HOST_NAME "host.name"       // of a resource
#define OTLP_HOST_ID "host.id"           // of a resource
#define OTLP_PROCESS_PID "process.pid"   // of a resource
// Tags made of what OTLP has a field for.
#define OTLP_TAG_SPAN_KIND "span.kind"
#define OTLP_TAG_STATUS_CODE "otel.status_code"
#define OTLP_TAG_STATUS_MESSAGE "otel.status_description"
#define OTLP_TAG_TRACE_STATE "w3c.tracestate"
#define OTLP_TAG_LINKS "otel.links"

#define OTLP_NOTE_SPAN_BASE "span_id_base" // the note of a run with its OTLP_SPAN_BASE, in hex digits

#define OTLP_EVENT_TIME_NS "xsp.time_ns" // of an event before its epoch

// ---- attributes of resources -----------------------------------------------------------------------------------------
#define OTLP_EXPERIMENT "xsp.experiment"
#define OTLP_EXPERIMENT_ID "xsp.experiment_id"
#define OTLP_RUN "xsp.run"
#define OTLP_LEVELS "xsp.levels"
#define OTLP_BATCH_SIZE "xsp.batch_size"
#define OTLP_DROPPED "xsp.dropped"
#define OTLP_MISUSED "xsp.misused"
#define OTLP_OWN_PCT "xsp.own_pct"
#define OTLP_EPOCH "xsp.epoch"
#define OTLP_LAYER "xsp.layer"
#define OTLP_WORKLOAD "xsp.workload"
#define OTLP_FRAMEWORK "xsp.framework"
#define OTLP_FRAMEWORK_VERSION "xsp.framework_version"
#define OTLP_COMMAND "xsp.command"
#define OTLP_CREATED "xsp.created_ns"
#define OTLP_XSP_VERSION "xsp.version"
#define OTLP_TRACE_ID "xsp.trace_id"     // the run's own: spans of this trace name none
#define OTLP_SPAN_BASE "xsp.span_base"   // what was added to the ids of the run's spans
#define OTLP_UNIQUE_IDS "xsp.unique_ids" // true: span ids are unique in the run, whatever the trace
#define OTLP_TRACKS "xsp.tracks"         // tracks without spans
#define OTLP_LOGS "xsp.logs"             // messages that are no span's
#define OTLP_SYSTEM_PREFIX "xsp.system."
#define OTLP_MODEL_PREFIX "xsp.model."         // what is known of the experiment's model: table `workload`
#define OTLP_NOTE_PREFIX "xsp.note."           // of the run
#define OTLP_FILE_NOTE_PREFIX "xsp.file_note." // of the file

#endif
