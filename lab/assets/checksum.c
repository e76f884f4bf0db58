// SPDX-License-Identifier: Apache-2.0
// SHA-256 by libcrypto, with the processor's instructions. Uses libcrypto's older functions: the newer interface would
// link all providers, 3.8 MB in a static program.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "assets/checksum.h"

#include "base/hex.h"
#include "base/input_file.h"
#include "base/memory.h"
#include "base/scoped.h"

#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK_BYTES ((size_t)1 << 18)

struct checksum {
  SHA256_CTX context;
};

struct checksum *checksum_start(void)
{
  struct checksum *checksum = memory_new(1, sizeof *checksum);
  SHA256_Init(&checksum->context);
  return checksum;
}

void checksum_add(struct checksum *checksum, const void *bytes, size_t length)
{
  SHA256_Update(&checksum->context, bytes, length);
}

void checksum_finish(struct checksum *checksum, char hex[CHECKSUM_TEXT_SIZE])
{
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256_Final(digest, &checksum->context);
  *hex_encode(hex, digest, sizeof digest) = 0;
  free(checksum);
}

enum status checksum_add_file(struct checksum *checksum, const char *path, struct error *err)
{
  FILE *file SCOPED(scoped_fclose) = NULL;
  XSP_TRY(input_file_stream(path, INPUT_FILE_REGULAR, "cannot read the file", &file, err));
  unsigned char *block SCOPED(scoped_free) = memory_new(1, BLOCK_BYTES);
  for (size_t got = 0; (got = fread(block, 1, BLOCK_BYTES, file)) > 0;)
    checksum_add(checksum, block, got);
  return ferror(file) == 0 ? STATUS_OK
                           : error_set_errno(err, STATUS_INPUT, "cannot read the file", path, "another path");
}

enum status checksum_of_file(const char *path, char hex[CHECKSUM_TEXT_SIZE], struct error *err)
{
  struct checksum *checksum = checksum_start();
  enum status status = checksum_add_file(checksum, path, err);
  checksum_finish(checksum, hex);
  return status;
}
