// SPDX-License-Identifier: Apache-2.0
// xsp: read traces. Opens .xsp files, asks them in SQL, gives columns as contiguous arrays, the calling context tree, and
// analyses as JSON. Link with -lxsp_read.
//
//   struct xsp_read_file *file;
//   struct xsp_read_table *table;
//   if (xsp_read_open("out.xsp", &file) != XSP_READ_OK ||
//       xsp_read_query(file, "select name, duration_ns from span", &table) != XSP_READ_OK)
//     puts(xsp_read_error());
//
// Nothing is ever written. Every function that can fail returns enum xsp_read_status and then sets its result to NULL; the
// reason is in xsp_read_error until the thread's next call. Results belong to the caller, who frees them.
//
// Threads: a file is for one thread at a time, different files for any. Tables and texts are constant: any thread may read
// them, also after the file is closed.
//
// Memory: where it is exhausted a call returns XSP_READ_MEMORY. What it had allocated stays allocated, and the file takes
// no further calls but xsp_read_close.
#ifndef XSP_READ_H
#define XSP_READ_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XSP_READ_API __attribute__((visibility("default")))
#define XSP_READ_VERSION 1 // raised where functions are added; none is removed or changed

enum xsp_read_status {
  XSP_READ_OK = 0,
  XSP_READ_NO = 1,     // the file lacks what an analysis needs
  XSP_READ_USE = 2,    // wrong use: a syntax error, an unknown column, run, analysis or option
  XSP_READ_INPUT = 3,  // the file is missing, unreadable or broken
  XSP_READ_SYSTEM = 4, // the environment failed
  XSP_READ_MEMORY = 5, // out of memory
};

XSP_READ_API uint32_t xsp_read_version(void); // XSP_READ_VERSION of the library
// Why the calling thread's last call failed, in one line without a line break; "" where it did not. Never NULL.
XSP_READ_API const char *xsp_read_error(void);

// ---- files ----
struct xsp_read_file;
// Runs that were not correlated when the file was written are correlated in memory.
XSP_READ_API int xsp_read_open(const char *path, struct xsp_read_file **ret_file);
XSP_READ_API void xsp_read_close(struct xsp_read_file *file); // NULL is fine

// ---- tables ----
enum xsp_read_type {
  XSP_READ_NULL = 0,
  XSP_READ_INTEGER = 1,
  XSP_READ_REAL = 2,
  XSP_READ_TEXT = 3,
  XSP_READ_BLOB = 4,
  XSP_READ_MIXED = 5, // of a column: its values are of several types
};
struct xsp_read_table;
// One column. The arrays live as long as the table. Later versions of this struct only append members.
struct xsp_read_column {
  uint32_t
      size; // in: sizeof(struct xsp_read_column), of the caller's version; out: how many bytes are filled, never more
  uint32_t type; // enum xsp_read_type of all values but nulls; XSP_READ_NULL: all are null
  const char *name;
  // A value a row, 8 bytes each: an int64_t, a double, or, of a text or blob, its number (int64_t) for xsp_read_texts. 0: null.
  const void *values;
  const uint8_t *types; // enum xsp_read_type a row
  uint64_t null_count;
};
XSP_READ_API size_t xsp_read_row_count(const struct xsp_read_table *table);
XSP_READ_API size_t xsp_read_column_count(const struct xsp_read_table *table);
// Fills the members that both the caller's version of the struct and the library's have. XSP_READ_USE: there is no such column, or
// `size` is less than that of the first version, up to null_count.
XSP_READ_API int xsp_read_table_column(const struct xsp_read_table *table, size_t index,
                                       struct xsp_read_column *ret_column);
// The texts and blobs of all columns, each once. Text n is ret_bytes[ret_offsets[n] … ret_offsets[n + 1]); it may hold any
// bytes. Returns how many there are. The arrays live as long as the table.
XSP_READ_API size_t xsp_read_texts(const struct xsp_read_table *table, const char **ret_bytes,
                                   const int64_t **ret_offsets);
XSP_READ_API void xsp_read_free_table(struct xsp_read_table *table); // NULL is fine

// One statement that reads; tables and columns: docs/format.md.
XSP_READ_API int xsp_read_query(struct xsp_read_file *file, const char *sql, struct xsp_read_table **ret_table);
// The calling context tree of a run: a node a row, callers before what they call. Columns: docs/python.md.
XSP_READ_API int xsp_read_tree(struct xsp_read_file *file, int64_t run_id, struct xsp_read_table **ret_table);

// ---- analyses ----
// An analysis ("A2") as `xsp analyze ID --json` prints it, freed by xsp_read_free_text. `options`: names of options of
// `xsp analyze` without "--" and their values in turn, then NULL; "" for an option without a value. NULL: none.
XSP_READ_API int xsp_read_analysis(struct xsp_read_file *file, const char *id, const char *const *options,
                                   char **ret_json);
XSP_READ_API void xsp_read_free_text(char *text);

#ifdef __cplusplus
}
#endif

#endif
