// SPDX-License-Identifier: Apache-2.0
// The first sentence about a program, for the cause.
#ifndef XSP_ANALYZE_FINDINGS_FIRST_SENTENCE_H
#define XSP_ANALYZE_FINDINGS_FIRST_SENTENCE_H

#include "analyze/view.h"

struct first_sentence {
  const char *text;    // in the question's arena; NULL: none, since the file is not of `xsp run`
  const char *file;    // NULL: unknown
  int64_t line;        // 0: unknown
  double share_pct;    // of the loop, that the sentence is about
  const char *finding; // the rule's id; NULL: it describes, and nothing is wrong
};

// Asks all rules. STATUS_NO: the file has no observations.
enum status findings_first_sentence(struct question *question, struct first_sentence *ret_sentence,
                                    struct error *err) MUST_CHECK;

#endif
