// SPDX-License-Identifier: Apache-2.0
// Fuzzes base/json_read: any bytes must end in JSON_END or JSON_ERROR, with balanced containers and in-range offsets.
#include "base/json_read.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct json_reader reader;
  json_read_start(&reader, (const char *)data, size);
  size_t opened = 0, closed = 0;
  for (;;) {
    enum json_event event = json_next(&reader);
    if (reader.offset > size)
      abort();
    if (event == JSON_ERROR || event == JSON_END) {
      if (event == JSON_END && opened != closed)
        abort();
      if (event == JSON_ERROR && reader.problem == NULL)
        abort();
      break;
    }
    opened += event == JSON_OBJECT || event == JSON_ARRAY;
    closed += event == JSON_OBJECT_END || event == JSON_ARRAY_END;
    int64_t number;
    (void)json_int64(&reader, &number);
    if ((event == JSON_KEY || event == JSON_STRING) && reader.text[reader.length] != 0)
      abort();
  }
  json_read_done(&reader);
  return 0;
}
