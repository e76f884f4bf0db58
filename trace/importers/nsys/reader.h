// SPDX-License-Identifier: Apache-2.0
// What the parts of the Nsight Systems importer share: one file being read. Inside this folder only.
//
//      nsys.c     recognises, opens, goes through the parts in order
//      facts.c    version, machine, names of threads and domains
//      ranges.c   NVTX
//      calls.c    calls into libraries, MPI, CUDA; the making of graphs
//      stacks.c   call stacks of CUDA calls
//      device.c   kernels, copies, sets, graphs, waits
//      names.c    strings; numbers to numbers
//      (../sqlite_database.c opens the SQLite below,
//      ../sqlite_scan.c reads its rows and values)
//
// A globalTid is [hardware 8 | machine 8 | process 24 | thread 24] bits, a globalPid the same with thread 0.
#ifndef XSP_IMPORTERS_NSYS_READER_H
#define XSP_IMPORTERS_NSYS_READER_H

#include "base/interner.h"
#include "importers/importer.h"
#include "importers/sqlite_database.h"
#include "importers/text_file.h"

// ---- from up to three numbers to one, in the order in which keys arrive
struct nsys_key {
  int64_t a, b, c;
};
struct nsys_map { // starts as {0}
  struct interner keys;
  VECTOR(uint32_t) values; // by the key's id
};
// *ret_value stays as it is where there is none.
bool nsys_map_find(struct nsys_map *map, struct nsys_key key, uint32_t *ret_value);
void nsys_map_put(struct nsys_map *map, struct nsys_key key, uint32_t value); // replaces
struct nsys_key nsys_map_key(const struct nsys_map *map, uint32_t id);
void nsys_map_done(struct nsys_map *map);

// ---- texts
static inline struct slice nsys_file_name(struct slice path) // without its folders
{
  const char *slash = path.length > 0 ? memrchr(path.data, '/', path.length) : NULL;
  return slash != NULL ? slice_after(path, (size_t)(slash + 1 - path.data)) : path;
}
// import_repaired into import->arena: of texts that may turn out to be of no use, since every interned one is stored.
const char *nsys_copy(struct import *import, struct slice text);

// Table StringIds(id, value). Looked up id by id where it can be, so that only strings in use are kept; else read whole.
struct nsys_strings {
  struct import *import;
  struct import_lookup lookup;
  struct nsys_map known;      // id → string of the import
  struct nsys_map found;      // without a key: id → place in `texts`
  VECTOR(struct slice) texts; // in import->arena, as in the file
  uint64_t missing;           // ids that were asked for and are not there
};
enum status nsys_strings_open(struct nsys_strings *ret_strings, struct import *import, struct import_database *database,
                              struct error *err) MUST_CHECK;
// "[string 12 missing]" where there is none.
enum status nsys_string(struct nsys_strings *strings, int64_t id, uint32_t *ret_string, struct error *err) MUST_CHECK;
void nsys_strings_close(struct nsys_strings *strings);

// ---- one file
// Keys of tags, and categories.
#define NSYS_KEYS(key)                                                                                                 \
  key(recorded_correlation) key(sequence) key(op_id) key(payload) key(nvtx_category) key(return_value) key(short_name) \
      key(mangled_name) key(grid) key(block) key(cluster) key(registers) key(shared_bytes) key(local_bytes)            \
          key(context) key(graph) key(graph_exec) key(graph_node) key(original_graph_node) key(bytes) key(copy_kind)   \
              key(source_device) key(destination_device) key(cooperative) key(layer_type) key(api) key(kernel)         \
                  key(memcpy) key(memset) key(sync) key(nvtx) key(mpi) key(ucx) key(cudnn) key(cublas)
struct nsys_keys { // ids of import_string: of the member's name, and "Input Dims", as Kineto calls them
#define NSYS_KEY(name) uint32_t name;
  NSYS_KEYS(NSYS_KEY)
#undef NSYS_KEY
  uint32_t input_dims;
};

struct nsys_reader {
  struct import *import;
  struct import_database database;
  struct nsys_strings strings;
  int64_t next_span_id;
  int64_t epoch_ns; // added to every time
  bool epoch_is_unix;
  const char *host; // NULL: unknown
  uint64_t gpu_count;
  struct nsys_keys keys;

  struct nsys_map threads;                    // globalTid → track
  struct nsys_map stream_tracks, wait_tracks; // (globalPid, device, stream) → track
  struct nsys_map processes;                  // globalTid >> 24 → ordinal
  struct nsys_map thread_names;               // globalTid → string
  struct nsys_map domains;                    // (process, domainId) → its name
  struct nsys_map balances;                   // (process, domainId) → how many of its ranges are NCCL's
  struct nsys_map categories;                 // (process, domainId, category) → its name
  struct nsys_map stacks;                     // callchainId → call path
  struct nsys_map process_names;              // process → string, of those with threads that have no name

  struct nsys_map callers;              // correlation id → ordinal of the process; see nsys_read_callers
  bool has_callers;                     // they are read
  bool has_calls, has_calls_of_several; // processes that call CUDA
  int64_t calling_process;
  bool has_torch;
  uint64_t unusable_correlations; // beyond 32 bits
  uint64_t unowned_executions;    // of nobody knows which process, in a file of several
};

// ---- nsys.c: what all tables have in common
// Sets the span's id and its times, on the run's epoch. span_id stays 0: the times make no sense, the row is skipped.
enum status nsys_begin_span(struct nsys_reader *reader, struct import_scan *scan, size_t start_column,
                            size_t end_column, struct store_span *span, struct error *err) MUST_CHECK;
// The row's string, by its id in `column`; 0 where it is NULL.
enum status nsys_column_string(struct nsys_reader *reader, struct import_scan *scan, size_t column,
                               uint32_t *ret_string, struct error *err) MUST_CHECK;
enum status nsys_thread_track(struct nsys_reader *reader, int64_t global_tid, uint32_t *ret_track,
                              struct error *err) MUST_CHECK;
// Unique in the run: the process's ordinal in the upper half. 0: none. The recorded number becomes a tag of the span.
enum status nsys_correlation(struct nsys_reader *reader, int64_t process, int64_t recorded, struct store_span *span,
                             struct error *err) MUST_CHECK;
// Checks the row's values, then hands the span over.
enum status nsys_add(struct nsys_reader *reader, struct import_scan *scan, const struct store_span *span,
                     struct error *err) MUST_CHECK;
static inline int64_t nsys_process(int64_t global_id)
{
  return (int64_t)((uint64_t)global_id >> 24);
}
// A tag with the column's own type; nothing where it is NULL.
void nsys_tag(struct nsys_reader *reader, struct import_scan *scan, size_t column, int64_t span_id, uint32_t key);

// ---- the parts
enum status nsys_read_facts(struct nsys_reader *reader, struct error *err) MUST_CHECK; // before the run begins
enum status nsys_read_ranges(struct nsys_reader *reader, struct error *err) MUST_CHECK;
enum status nsys_read_stacks(struct nsys_reader *reader, struct error *err) MUST_CHECK; // before the calls
enum status nsys_read_calls(struct nsys_reader *reader, struct error *err) MUST_CHECK;
#define NSYS_SEVERAL UINT32_MAX
// For executions that do not name their process: which one calls with their id. Reads the calls again, once.
enum status nsys_read_callers(struct nsys_reader *reader, struct error *err) MUST_CHECK;
enum status nsys_read_device(struct nsys_reader *reader, struct error *err) MUST_CHECK;
enum status nsys_read_names(struct nsys_reader *reader, struct error *err) MUST_CHECK;   // of tracks with spans
enum status nsys_count_others(struct nsys_reader *reader, struct error *err) MUST_CHECK; // rows that become no spans
bool nsys_takes_table(const char *table); // whether one of the parts above reads its rows as events

#endif
