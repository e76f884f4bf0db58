// SPDX-License-Identifier: Apache-2.0
// Secrets from files, and the wait for a signal; see serving.h.
#include "programs/xsp/serving.h"

#include "base/input_file.h"
#include "base/scoped.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECRET_BYTES_MOST ((size_t)1 << 20) // of a token, a certificate or a key

enum status serving_text(const struct invocation *invocation, const char *option, struct buf *buf,
                         const char **ret_text, struct error *err)
{
  const char *path = invocation_value(invocation, option);
  struct stat facts;
  int file SCOPED(scoped_close) = -1;
  *ret_text = NULL;
  if (path == NULL)
    return STATUS_OK;
  XSP_TRY(input_file_open(path, INPUT_FILE_OR_PIPE, "cannot read", &file, &facts, err));
  buf_init(buf, SECRET_BYTES_MOST + 1);
  ssize_t count = 1;
  while (count > 0 && buf_reserve(buf, 4096)) {
    count = read(file, buf->data + buf->length, 4096);
    buf->length += count > 0 ? (size_t)count : 0;
  }
  if (count < 0)
    return error_set_errno(err, STATUS_INPUT, "cannot read", path, NULL);
  if (count > 0 || memchr(buf->data, 0, buf->length) != NULL)
    return error_set(err, STATUS_INPUT, "cannot read", path, NULL, "it is not a text of at most 1 MiB");
  buf_put(buf, "", 1); // a zero
  *ret_text = buf->data;
  return STATUS_OK;
}

// One line, without the white space around it.
static enum status check_token(const char **token, struct error *err)
{
  char *text = (char *)*token; // our own copy
  if (text == NULL)
    return STATUS_OK;
  while (isspace((unsigned char)*text))
    text++;
  size_t length = strlen(text);
  while (length > 0 && isspace((unsigned char)text[length - 1]))
    text[--length] = 0;
  *token = text;
  for (size_t i = 0; i < length; i++)
    if (text[i] <= ' ' || text[i] > '~')
      return error_set(err, STATUS_INPUT, "cannot use token", "--token-file", "head -c 24 /dev/urandom | base64",
                       "it has white space or bytes that are not ASCII");
  return length > 0 ? STATUS_OK
                    : error_set(err, STATUS_INPUT, "cannot use token", "--token-file",
                                "head -c 24 /dev/urandom | base64", "the file is empty");
}

enum status serving_token(const struct invocation *invocation, struct buf *buf, const char **ret_token,
                          struct error *err)
{
  XSP_TRY(serving_text(invocation, "token-file", buf, ret_token, err));
  return check_token(ret_token, err);
}

enum status serving_tls(const struct invocation *invocation, struct buf *certificate, struct buf *key,
                        const char **ret_certificate, const char **ret_key, struct error *err)
{
  XSP_TRY(serving_text(invocation, "tls-cert", certificate, ret_certificate, err));
  XSP_TRY(serving_text(invocation, "tls-key", key, ret_key, err));
  return (*ret_key == NULL) == (*ret_certificate == NULL)
             ? STATUS_OK
             : error_set(err, STATUS_USE, "wrong use", invocation->verb->name, "both --tls-cert and --tls-key",
                         "one of the two is missing");
}

// ---- signals ---------------------------------------------------------------------------------------------------------
void serving_block_signals(sigset_t *ret_signals)
{
  sigemptyset(ret_signals);
  sigaddset(ret_signals, SIGINT);
  sigaddset(ret_signals, SIGTERM);
  sigaddset(ret_signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, ret_signals, NULL);
  signal(SIGXFSZ, SIG_IGN); // a write beyond the limit on files fails like one on a full disk
}

void serving_wait(const sigset_t *signals, bool goes_on)
{
  int number = 0;
  if (goes_on)
    sigwait(signals, &number);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  signal(SIGHUP, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, signals, NULL);
}
