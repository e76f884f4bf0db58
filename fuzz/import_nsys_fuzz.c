// SPDX-License-Identifier: Apache-2.0
// Fuzzes the importer of Nsight Systems exports in two ways: bytes as a database file, and (first byte below 'S') bytes as
// a script that fills well-formed databases with tables, columns and values of the wrong kind.
#include "fuzz/import_fuzz.h"

#include <sqlite3.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// ---- scripted databases
struct script {
  const uint8_t *at, *end;
};

static uint8_t next(struct script *script)
{
  return script->at < script->end ? *script->at++ : 0;
}

struct table {
  const char *name, *columns[20];
};
static const struct table tables[] = {
    {"StringIds", {"id", "value"}},
    {"META_DATA_EXPORT", {"name", "value"}},
    {"TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}},
    {"TARGET_INFO_GPU", {"name", "memoryBandwidth", "clockRate", "smCount", "totalMemory", "computeMajor"}},
    {"ThreadNames", {"nameId", "globalTid"}},
    {"PROCESSES", {"globalPid", "name"}},
    {"NVTX_EVENTS",
     {"start", "end", "eventType", "globalTid", "text", "textId", "domainId", "category", "jsonText", "jsonTextId",
      "uint64Value", "doubleValue"}},
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     {"start", "end", "globalTid", "nameId", "correlationId", "returnValue", "callchainId"}},
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     {"start", "end", "deviceId", "streamId", "correlationId", "demangledName", "shortName", "globalPid", "gridX",
      "gridY", "gridZ", "staticSharedMemory", "dynamicSharedMemory", "graphNodeId", "launchType"}},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     {"start", "end", "deviceId", "streamId", "correlationId", "bytes", "copyKind", "srcKind", "dstKind"}},
    {"CUPTI_ACTIVITY_KIND_MEMSET", {"start", "end", "deviceId", "streamId", "correlationId", "bytes", "memKind"}},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", {"start", "end", "correlationId", "graphId", "deviceId"}},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", {"start", "end", "correlationId", "syncType", "streamId"}},
    {"CUDNN_EVENTS", {"start", "end", "globalTid", "nameId"}},
    {"MPI_P2P_EVENTS", {"start", "end", "globalTid", "textId"}},
    {"OSRT_API", {"start", "end"}},
    {"CUDA_CALLCHAINS", {"id", "symbol", "stackDepth", "module", "unresolved"}},
    {"CUDA_GRAPH_NODE_EVENTS", {"start", "end", "globalTid", "nameId", "graphNodeId", "originalGraphNodeId"}},
};
static const char *const texts[] = {"",
                                    "aten::mm, seq = 3, op_id = 4, sizes = [[1]]",
                                    "ncclAllReduce",
                                    "NCCL",
                                    "EXPORT_SCHEMA_VERSION",
                                    "\xff\xfe",
                                    "step 1",
                                    "12"};
static const int64_t integers[] = {0,
                                   1,
                                   2,
                                   59,
                                   60,
                                   75,
                                   39,
                                   33,
                                   34,
                                   -1,
                                   4294967296,
                                   INT64_MAX,
                                   INT64_MIN,
                                   1 << 24,
                                   281476838981743,
                                   1779630014975716426};

static void bind(sqlite3_stmt *row, int column, struct script *script)
{
  uint8_t choice = next(script);
  switch (choice % 8) {
  case 0:
    sqlite3_bind_null(row, column);
    break;
  case 1:
    sqlite3_bind_text(row, column, texts[choice / 8 % 8], -1, SQLITE_STATIC);
    break;
  case 2:
    sqlite3_bind_double(row, column, (double)next(script) * 1e17);
    break;
  case 3:
    sqlite3_bind_blob(row, column, script->at, script->end - script->at > 3 ? 3 : 0, SQLITE_STATIC);
    break;
  case 4:
    sqlite3_bind_int64(row, column, integers[choice / 8 % 16]);
    break;
  default:
    sqlite3_bind_int64(row, column, next(script));
    break;
  }
}

static void fill(sqlite3 *db, const struct table *table, struct script *script)
{
  char create[1024], insert[512];
  int count = 0, made = snprintf(create, sizeof create, "CREATE TABLE %s(", table->name);
  int at = snprintf(insert, sizeof insert, "INSERT INTO %s VALUES(", table->name);
  unsigned mask = next(script) | (unsigned)next(script) << 8 | (unsigned)next(script) << 16; // columns left out
  bool has_key = next(script) % 2 == 0;
  for (int i = 0; i < 20 && table->columns[i] != NULL; i++) {
    if ((mask >> i & 1) != 0 && i > 1)
      continue;
    made += snprintf(create + made, sizeof create - (size_t)made, "%s\"%s\" INTEGER%s", count > 0 ? "," : "",
                     table->columns[i], has_key && strcmp(table->columns[i], "id") == 0 ? " PRIMARY KEY" : "");
    at += snprintf(insert + at, sizeof insert - (size_t)at, "%s?", count > 0 ? "," : "");
    count++;
  }
  snprintf(create + made, sizeof create - (size_t)made, ")");
  snprintf(insert + at, sizeof insert - (size_t)at, ")");
  sqlite3_stmt *row = NULL;
  if (sqlite3_exec(db, create, NULL, NULL, NULL) != SQLITE_OK ||
      sqlite3_prepare_v2(db, insert, -1, &row, NULL) != SQLITE_OK)
    return;
  for (unsigned rows = next(script) % 6; rows > 0; rows--) {
    for (int column = 1; column <= count; column++)
      bind(row, column, script);
    sqlite3_step(row);
    sqlite3_reset(row);
  }
  sqlite3_finalize(row);
}

static void write_script(const char *path, const uint8_t *data, size_t size)
{
  struct script script = {data, data + size};
  sqlite3 *db = NULL;
  unlink(path);
  fuzz_must(sqlite3_open(path, &db) == SQLITE_OK, "no database to fill");
  sqlite3_exec(db, "PRAGMA page_size = 512; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN", NULL, NULL,
               NULL);
  while (script.at < script.end)
    fill(db, &tables[next(&script) % (sizeof tables / sizeof tables[0])], &script);
  sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
  sqlite3_close(db);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char path[64];
  fuzz_name_path(path);
  if (size > 0 && data[0] < 'S')
    write_script(path, data + 1, size - 1);
  else
    fuzz_write(path, data, size);
  fuzz_import_path(&importer_nsys, "step*", path);
  unlink(path);
  return 0;
}
