// SPDX-License-Identifier: Apache-2.0
// Fuzzes the importer of journals: files as they are, and requests in a record with the right checksum, which chance
// does not find. The first byte is the request's encoding.
#include "base/buf.h"
#include "fuzz/import_fuzz.h"
#include "otlp/journal.h"

extern const struct importer importer_otlp_journal;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct slice body = {(const char *)data + 1, size - (size > 0)};
  if (size < 2 || (data[0] != OTLP_PROTOBUF && data[0] != OTLP_JSON)) {
    fuzz_import(&importer_otlp_journal, NULL, data, size);
    return 0;
  }
  struct otlp_journal_head head = otlp_journal_head_of((enum otlp_encoding)data[0], body);
  struct buf file = {0};
  buf_put(&file, OTLP_JOURNAL_MAGIC, OTLP_JOURNAL_MAGIC_BYTES);
  for (int i = 0; i < 2; i++) { // the second time all ids are taken
    buf_put(&file, &head, sizeof head);
    buf_put(&file, body.data, body.length);
  }
  fuzz_import(&importer_otlp_journal, NULL, (const uint8_t *)file.data, file.length);
  buf_done(&file);
  return 0;
}
