// SPDX-License-Identifier: Apache-2.0
// What figures are called: one table for the columns and summaries of all tables, and the rule for keys that it does not
// list. Text, Markdown, JSON, HTTP and the report's page read it; a table's own words go through table_put_as.
#ifndef XSP_TABLE_WORDS_H
#define XSP_TABLE_WORDS_H

#include "base/arena.h"

enum table_trait {         // what tables for people do with a figure
  TABLE_SPREAD = 1,        // of several observations: repeats the latency where there is one
  TABLE_PRESENCE = 2,      // repeats the latency and n where nothing is absent from an observation
  TABLE_ORIGIN = 4,        // where a figure comes from: a note says it
  TABLE_ONCE = 8,          // goes into a note where it is the same in every row
  TABLE_ROOF = 16,         // of the machine: a note has those of single precision
  TABLE_FIXED_WORDS = 32,  // its texts are words, not names: never cut
  TABLE_NO_SHARE = 64,     // may be above 100 %: not a part of something
  TABLE_TWICE = 128,       // of a summary: is there under another key, too
  TABLE_IF_MEASURED = 256, // of a summary: left out where it is null
  TABLE_OPTIONAL = 512,    // of a column: left out of every form where it is null in every row
};
// They come after the other columns on the page.
#define TABLE_DETAILS (TABLE_SPREAD | TABLE_PRESENCE | TABLE_ORIGIN)

struct table_word {
  const char *key;
  const char *label; // NULL: from the key
  const char *unit;  // NULL: from the key's ending
  int rank;          // a narrow terminal leaves out the column of the highest rank first; 0: none
  unsigned traits;   // bits of enum table_trait
};
extern const struct table_word table_words[]; // by key, rising; ends with a NULL key

struct table_ending { // of a key
  const char *text, *unit;
  size_t stays; // bytes of it that belong to the label
};
extern const struct table_ending table_endings[]; // the first that fits counts; ends with a NULL text

const struct table_word *table_word(const char *key); // one without label, unit, rank and traits where it is not listed
// "ms", "bytes", "%", "1/s", …; "" for none. Static text.
const char *table_unit(const char *key);
// "latency" of "latency_ms", in `arena`. Of a share, `of` is its base, else NULL: "of model", "GPU of model".
const char *table_label(const char *key, const char *of, struct arena *arena);

#endif
