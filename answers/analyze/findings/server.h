// SPDX-License-Identifier: Apache-2.0
// Programs that serve predictions: which threads run them, and what these wait for, by samples. For rules and the first sentence.
#ifndef XSP_ANALYZE_FINDINGS_SERVER_H
#define XSP_ANALYZE_FINDINGS_SERVER_H

#include "analyze/findings/own_lines.h"

struct server {
  size_t threads;    // that run predictions; 0: the main thread runs them
  double window_ns;  // from the first prediction's start to the last one's end
  double model_ns;   // of predictions
  double overlap_ns; // in which several run at once
  // Samples in the window, of the threads that run predictions; of one that is in functions of the program or of models.
  double computes_ns;
  double waits_ns;   // for time, input, output
  double locked_ns;  // for locks that the program's own code takes
  double idle_ns;    // for requests
  size_t locks;      // waits for locks
  double in_loop_ns; // of the above, below the event loop of asyncio
  double others_ns;  // waits for locks of other threads than these and the main one, in functions of the program
  struct store_call_paths paths;
  struct own_lines lines;                         // without items, for finding_at_own_line
  const struct own_line *waits_line, *locks_line; // with most of these waits; NULL: none
};

// Whose samples count as the loop's, by track id: threads that run predictions or steps, where the main thread runs less than a
// tenth of these; else main threads, as where XLA's own threads run what Python starts. The caller frees the map. Returns the
// number of threads in the first case, else 0.
enum status server_tracks(struct findings *findings, const struct view_run *run, struct map *ret_tracks,
                          size_t *ret_threads, struct error *err) MUST_CHECK;
// Calls `see` for each sample of these threads in the loop, of all runs. `context_id` 0: it has no call path.
typedef void server_sample(void *data, uint32_t context_id, double ns);
enum status server_each_sample(struct findings *findings, server_sample *see, void *data, struct error *err) MUST_CHECK;
// Loaded once. STATUS_NO: there are no samples.
enum status findings_server(struct findings *findings, const struct server **ret_server, struct error *err) MUST_CHECK;
// Several threads run predictions, hardly ever at once.
static inline bool server_takes_turns(const struct server *server)
{
  return server->threads > 1 && server->overlap_ns <= 0.02 * server->model_ns;
}

#endif
