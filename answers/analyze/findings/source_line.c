// SPDX-License-Identifier: Apache-2.0
// Reads the program's source. Called by F2, F29, F63, F68, F69 and the first sentence. The name comes from a trace: only a regular file *.py is
// read, only where the trace was recorded on this machine, and only if the request allows it, which a server's never does.
#include "analyze/findings/source_line.h"

#include "base/clock.h"
#include "base/input_file.h"
#include "base/slice.h"

#define FILE_BYTES_MOST ((size_t)512 << 10)

bool findings_source(struct findings *findings, const char *file, struct buf *ret_text)
{
  const struct question *question = findings->question;
  const struct store_experiment *experiment = question->view->experiment;
  struct error err;
  struct stat facts;
  bool is_here;
  buf_init(ret_text, FILE_BYTES_MOST);
  return question->request->reads_source && file != NULL && file[0] == '/' && text_ends_with(file, ".py") &&
         stat(file, &facts) == 0 && clock_ns_of(facts.st_mtim) <= experiment->created_ns &&
         analyze_is_here(question->view->store, experiment->system_id, question->scratch, &is_here, &err) ==
             STATUS_OK &&
         is_here && input_file_read(file, "cannot read the source", ret_text, NULL) == STATUS_OK &&
         ret_text->length > 0;
}

const char *findings_source_line(struct findings *findings, const char *file, int64_t line)
{
  struct buf text SCOPED(buf_done) = {0};
  if (!findings_source(findings, file, &text))
    return NULL;
  struct slice rest = {text.data, text.length}, found = {NULL, 0};
  while (line-- > 0)
    slice_cut(&rest, '\n', &found);
  found = slice_trim(found);
  return found.length > 0 ? findings_name(findings, arena_copy(findings->question->arena, found.data, found.length))
                          : NULL;
}
