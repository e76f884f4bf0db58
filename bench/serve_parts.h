// SPDX-License-Identifier: Apache-2.0
// Shared by the benches of xsp serve: a request of 512 spans, a connection to a server, servers in processes of their own, and the
// floor: a server with the same HTTP library, which reads a request and discards it.
#ifndef XSP_BENCH_SERVE_PARTS_H
#define XSP_BENCH_SERVE_PARTS_H

#include "bench/measure.h"
#include "http/microhttpd.h"
#include "otlp/encode.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SPANS 512

// ---- the request -----------------------------------------------------------------------------------------------------
// With ids that no request had before: the importer would leave repeated ones out.
static uint64_t last_id;

static void write_request(struct buf *buf)
{
  struct otlp_out out;
  const uint8_t trace[16] = {1};
  uint8_t id[8];
  buf_clear(buf);
  otlp_out_init(&out, false, buf);
  size_t request = otlp_out_message(&out, OTLP_REQUEST_RESOURCE_SPANS);
  size_t group = otlp_out_message(&out, OTLP_RESOURCE_SPANS_SCOPE_SPANS);
  for (unsigned i = 0; i < SPANS; i++) {
    const char *name = i & 1 ? "aten::scaled_dot_product_attention" : "nn.Module: Layer_7";
    size_t span = otlp_out_message(&out, OTLP_SCOPE_SPANS_SPANS);
    last_id++;
    memcpy(id, &last_id, sizeof id);
    otlp_out_id(&out, OTLP_SPAN_TRACE_ID, trace, sizeof trace);
    otlp_out_id(&out, OTLP_SPAN_ID, id, sizeof id);
    otlp_out_text(&out, OTLP_SPAN_NAME, name, strlen(name));
    otlp_out_enum(&out, OTLP_SPAN_KIND, OTLP_SPAN_KIND_INTERNAL);
    otlp_out_time(&out, OTLP_SPAN_START, UINT64_C(1700000000000000000) + i * 1000);
    otlp_out_time(&out, OTLP_SPAN_END, UINT64_C(1700000000000000900) + i * 1000);
    otlp_out_attribute(&out, OTLP_SPAN_ATTRIBUTES, "", slice_of("xsp.level"), otlp_value_of_text(slice_of("layer")));
    otlp_out_attribute(&out, OTLP_SPAN_ATTRIBUTES, "", slice_of("xsp.layer_index"), otlp_value_of_int(i));
    otlp_out_message_end(&out, span);
  }
  otlp_out_message_end(&out, group);
  otlp_out_message_end(&out, request);
  otlp_out_done(&out);
}

// ---- servers ---------------------------------------------------------------------------------------------------------
static int connect_to(uint16_t port)
{
  const struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int file = socket(AF_INET, SOCK_STREAM, 0);
  if (file < 0 || connect(file, (const struct sockaddr *)&address, sizeof address) != 0) {
    perror("bench: connect");
    exit(3);
  }
  return file;
}

static struct microhttpd http;

static enum MHD_Result discard(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                               const char *version, const char *data, size_t *size, void **state)
{
  static int begun;
  struct MHD_Response *response = context;
  (void)url, (void)method, (void)version, (void)data;
  if (*state == NULL) {
    *state = &begun;
    return MHD_YES;
  }
  if (*size == 0)
    return http.MHD_queue_response(connection, 200, response);
  *size = 0;
  return MHD_YES;
}

static uint16_t start_floor(void)
{
  struct error err = {0};
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  check(microhttpd_open(NULL, &http, &err), &err);
  struct MHD_Response *response = http.MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
  int file = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(file, (struct sockaddr *)&address, length) != 0 || listen(file, 16) != 0 ||
      getsockname(file, (struct sockaddr *)&address, &length) != 0 ||
      http.MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL, 0, NULL,
                            NULL, discard, response, MHD_OPTION_LISTEN_SOCKET, file, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                            (size_t)128 << 10, MHD_OPTION_END) == NULL)
    exit(3);
  return ntohs(address.sin_port);
}

static pid_t start(uint16_t (*start_server)(void), uint16_t *ret_port)
{
  int ends[2];
  if (pipe(ends) != 0)
    exit(3);
  pid_t child = fork();
  if (child == 0) {
    uint16_t port = start_server();
    if (write(ends[1], &port, sizeof port) != sizeof port)
      _exit(3);
    for (;;)
      pause();
  }
  close(ends[1]);
  if (child < 0 || read(ends[0], ret_port, sizeof *ret_port) != sizeof *ret_port)
    exit(3);
  close(ends[0]);
  return child;
}

#endif
