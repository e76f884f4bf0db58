// SPDX-License-Identifier: Apache-2.0
// A small YAML file as a tree whose nodes know their lines. Made for hostile files: size, depth and number of nodes are
// bounded; anchors, aliases, tags and second documents are refused, so that a tree is never larger than its text.
#ifndef XSP_MANIFESTS_DOCUMENT_H
#define XSP_MANIFESTS_DOCUMENT_H

#include "base/arena.h"
#include "base/error.h"

#include <stddef.h>

#define DOCUMENT_BYTES_MAXIMUM ((size_t)256 << 10)

// What a plain scalar is under YAML 1.1, as other readers take it: `1.0` is a number, `no` is a boolean. Quoted is text.
enum document_kind { NODE_NOTHING, NODE_BOOLEAN, NODE_INTEGER, NODE_NUMBER, NODE_DATE, NODE_TEXT, NODE_LIST, NODE_MAP };

struct document_node {
  enum document_kind kind;
  unsigned line;     // from 1
  const char *text;  // of a scalar as written, without quotes; never with a NUL inside
  const char *key;   // of a map's entry; NULL in a list
  unsigned key_line; // of a map's entry
  struct document_node *first, *next;
  size_t count; // entries of a list or map
};

// `bytes` may be NULL where `size` is 0. `path` is for errors. Errors: STATUS_INPUT with `path:line`.
enum status document_parse(const char *bytes, size_t size, const char *path, struct arena *arena,
                           struct document_node **ret_root, struct error *err) MUST_CHECK;
// "path:line"; of a long path the end.
void document_where(const char *path, size_t line, char *where, size_t size);
const char *document_kind_name(enum document_kind kind); // "a number"

#endif
