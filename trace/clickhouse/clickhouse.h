// SPDX-License-Identifier: Apache-2.0
// Spans in a ClickHouse database, in the table of OpenTelemetry's exporter. The database adds kernels up; what comes back is
// OTLP's JSON, which the importer reads. Front door of clickhouse.
#ifndef XSP_CLICKHOUSE_CLICKHOUSE_H
#define XSP_CLICKHOUSE_CLICKHOUSE_H

#include "base/error.h"
#include "format/detail.h"

#include <stdbool.h>
#include <stdint.h>

struct clickhouse_report {
  int64_t spans, runs; // in the database, as selected
  int64_t bytes;       // that came back
};

bool clickhouse_is_address(const char *text); // begins with clickhouse:// or clickhouses://
// Of runs with hardware metrics, without observations, or from other programs all spans come back, whatever `detail` is.
// Appends requests of OTLP, one a line, to the file `fd`. STATUS_USE: the address is wrong; STATUS_INPUT: the database refuses,
// or has no such spans; STATUS_SYSTEM: there is no connection, or no room.
// `layer_mode`: of analyze --layer, which layers count; NULL: as the runs say.
enum status clickhouse_fetch(const char *address, enum trace_detail detail, const char *layer_mode, int fd,
                             struct clickhouse_report *ret_report, struct error *err) MUST_CHECK;

#endif
