// SPDX-License-Identifier: Apache-2.0
// The constraints of --on: "framework=onnxruntime>=1.20,arch=x86_64,memory>=8GiB". Pure; any thread; fuzzed.
#ifndef XSP_AGENT_CONSTRAINT_H
#define XSP_AGENT_CONSTRAINT_H

#include "agent/record.h"
#include "base/error.h"
#include "manifests/manifests.h"

#define CONSTRAINTS_MOST 32u

enum constraint_kind {
  CONSTRAINT_FRAMEWORK, // name and version of one of its frameworks
  CONSTRAINT_TEXT,      // all of a text
  CONSTRAINT_PART,      // part of a text, in any case of letters: names of processors are long
  CONSTRAINT_NUMBER,
};
struct constraint {
  enum constraint_kind kind;
  const char *text;     // as written
  size_t offset;        // of the field in struct agent_record; not of FRAMEWORK
  const char *value;    // text, or the framework's name
  const char *versions; // FRAMEWORK: a constraint; NULL: any
  char comparison;      // '<', '>', '=', '!'; of texts the last two
  bool or_equal;        // "<=", ">="
  int64_t number;
};
struct constraints {
  struct constraint items[CONSTRAINTS_MOST];
  size_t count;
};

// NULL and "" have none. Texts are in `arena`. STATUS_USE: malformed.
enum status constraints_parse(const char *text, struct arena *arena, struct constraints *ret_constraints,
                              struct error *err) MUST_CHECK;
// The first that the agent misses; NULL: it has all. *ret_why: what it has instead, in `arena`. What is unknown satisfies nothing.
const struct constraint *constraints_missed(const struct constraints *constraints, const struct agent_record *record,
                                            struct arena *arena, const char **ret_why);
// What a manifest needs of the machine, its key `hardware`. STATUS_INPUT: malformed; STATUS_SYSTEM: the machine lacks it. Both have the
// manifest's line.
enum status constraints_check_manifest(const struct manifest *manifest, const struct agent_record *record,
                                       struct arena *arena, struct error *err) MUST_CHECK;
// The newest model of the agent that fits `requirement` ("net", "net==1.0") and is of a framework that the constraints name, if they
// name one. NULL: there is none.
const struct agent_model *constraints_model(const struct constraints *constraints, const struct agent_record *record,
                                            const char *requirement);

#endif
