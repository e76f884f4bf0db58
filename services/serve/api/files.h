// SPDX-License-Identifier: Apache-2.0
// Handlers of files as a whole: the list, download. docs/serve.md, "API".
#ifndef XSP_SERVE_API_FILES_H
#define XSP_SERVE_API_FILES_H

struct exchange;

void serve_files_list(struct exchange *exchange);     // GET /api/v1/files
void serve_files_download(struct exchange *exchange); // GET /api/v1/files/{file}

#endif
