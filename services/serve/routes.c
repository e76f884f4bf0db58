// SPDX-License-Identifier: Apache-2.0
// All that the server answers, one line each: the table that requests are matched with. What else the HTTP server needs to know.
#include "serve/routes.h"

#include "http/openapi.h"
#include "serve/api/ask.h"
#include "serve/api/files.h"
#include "serve/api/jobs.h"
#include "serve/api/list_page.h"
#include "serve/api/runs.h"
#include "serve/api/search.h"
#include "serve/api/status.h"
#include "serve/api/upload.h"
#include "serve/kept.h"
#include "serve/pages/page_routes.h"
#include "serve/server.h"
#include "serve/traces.h"

#include <string.h>
#include <unistd.h>

#define JSON "application/json"
#define HTML "text/html; charset=utf-8"
#define BYTES "application/octet-stream"

static const struct route_body spans = {ROUTE_BODY_IN_MEMORY, {"application/x-protobuf", JSON}, "TraceRequest", true};
static const struct route_body upload = {ROUTE_BODY_IN_FILE, {"application/vnd.sqlite3"}, NULL, false};
static const struct route_body job_report = {ROUTE_BODY_IN_MEMORY, {JSON}, "JobReport", false};
static const struct route_body names = {ROUTE_BODY_IN_MEMORY, {"text/plain"}, NULL, false};
static const struct route_body job_levels = {ROUTE_BODY_IN_MEMORY, {JSON}, "JobLevels", false};

// clang-format off
const struct route serve_routes[] = {
    // method, path, summary, parameters, type, schema, body, begin, answer
    {"POST", "/v1/traces", "Receive spans by OTLP/HTTP", NULL, "application/x-protobuf", "TraceReply", &spans,
     serve_traces_begin, serve_traces_answer},
    {"GET", "/api/v1/files", "List the files, the newest one first", NULL, JSON, "Files", ROUTE_NO_BODY, NULL, serve_files_list},
    {"GET", "/api/v1/files/{file}", "Download a file, or with Range a part of it", NULL, "application/vnd.sqlite3", NULL,
     ROUTE_NO_BODY, NULL, serve_files_download},
    {"PUT", "/api/v1/files/{file}", "Upload a file of xsp; files are never replaced", NULL, JSON, "Upload", &upload,
     upload_begin, upload_answer},
    {"GET", "/api/v1/files/{file}/info", "What a file holds, as xsp info prints it", NULL, JSON, "Info", ROUTE_NO_BODY, NULL,
     ask_info},
    {"GET", "/api/v1/files/{file}/analyses/{analysis}", "An analysis of a file, as xsp analyze prints it",
     ask_analysis_parameters, JSON, "Analysis", ROUTE_NO_BODY, NULL, ask_analysis},
    {"GET", "/api/v1/experiments", "Experiments of all files", serve_runs_experiment_parameters, JSON, "Experiments",
     ROUTE_NO_BODY, NULL, serve_runs_experiments},
    {"GET", "/api/v1/runs", "Runs of all files", serve_runs_parameters, JSON, "Runs", ROUTE_NO_BODY, NULL, serve_runs_runs},
    {"GET", "/api/v1/search", "In which files a name or a trace id is", search_parameters, JSON, "Search", ROUTE_NO_BODY,
     NULL, search_answer},
    {"GET", "/api/v1/status", "Places, turns and memory of requests", NULL, JSON, "ServerStatus", ROUTE_NO_BODY, NULL,
     status_answer},
    {"GET", "/api/v1/openapi.json", "This description", NULL, JSON, "OpenApi", ROUTE_NO_BODY, NULL, openapi_answer},
    {"GET", "/", "The list of files as a page", list_page_parameters, HTML, NULL, ROUTE_NO_BODY, NULL, list_page_answer},
    {"GET", "/list.css", "Its style", NULL, "text/css; charset=utf-8", NULL, ROUTE_NO_BODY, NULL, list_page_style},
    {"GET", "/api/v1/jobs", "List the jobs whose levels may be switched", NULL, JSON, "Jobs", ROUTE_NO_BODY, NULL,
     jobs_answer_list},
    {"GET", "/api/v1/jobs/{job}", "One of them", NULL, JSON, "Job", ROUTE_NO_BODY, NULL, jobs_answer_one},
    {"POST", "/api/v1/jobs/{job}", "A job's own report; the reply has the levels that are wanted", NULL, JSON, "Job",
     &job_report, NULL, jobs_answer_report},
    {"PUT", "/api/v1/jobs/{job}/levels", "Switch the levels of a job", NULL, JSON, "Job", &job_levels, NULL,
     jobs_answer_levels},
    {"GET", "/files/{file}/report.html", "A file's page with all its data, to keep or to mail", ask_report_parameters, HTML,
     NULL, ROUTE_NO_BODY, NULL, ask_report},
    {"GET", "/files/{file}/page", "The page of a file, which asks for what it shows", NULL, HTML, NULL, ROUTE_NO_BODY, NULL, serve_page_show},
    {"GET", "/files/{file}/page/parts/{part}", NULL, NULL, BYTES, NULL, ROUTE_NO_BODY, NULL, serve_page_part},
    {"GET", "/files/{file}/page/spans", NULL, serve_page_window_parameters, JSON, NULL, ROUTE_NO_BODY, NULL, serve_page_spans},
    {"GET", "/files/{file}/page/find", NULL, serve_page_find_parameters, JSON, NULL, ROUTE_NO_BODY, NULL, serve_page_find},
    {"POST", "/files/{file}/page/find", NULL, serve_page_find_parameters, JSON, NULL, &names, NULL, serve_page_find},
    {"GET", "/files/{file}/page/tags", NULL, serve_page_tag_parameters, JSON, NULL, ROUTE_NO_BODY, NULL, serve_page_tags},
    {"GET", "/live", "The page of the newest spans, while they come", NULL, HTML, NULL, ROUTE_NO_BODY, NULL, live_show},
    {"GET", "/live/parts/{part}", NULL, serve_page_live_parameters, BYTES, NULL, ROUTE_NO_BODY, NULL, live_part},
    {0},
};
// clang-format on

// ---- the site --------------------------------------------------------------------------------------------------------
__asm__(".pushsection .rodata\n"
        ".global serve_api_schemas\n"
        "serve_api_schemas:\n"
        ".incbin \"" XSP_API_SCHEMAS "\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char serve_api_schemas[];

// A file that a request is about is not removed meanwhile.
static void begin(struct exchange *exchange)
{
  if (strstr(exchange->route->path, "{file}") == NULL)
    return;
  exchange->used_file = exchange->parts[0];
  kept_use(&serve_of(exchange)->uses, exchange->used_file);
}

static void end(struct exchange *exchange)
{
  struct serve *serve = serve_of(exchange);
  if (exchange->used_file != NULL)
    kept_use_end(&serve->uses, exchange->used_file);
  if (exchange->body_file >= 0 && exchange->body_name[0] != 0)
    unlinkat(serve->folder, exchange->body_name, 0);
}

const struct http_site serve_site = {.routes = serve_routes,
                                     .title = "xsp serve",
                                     .description = "/api/v1/openapi.json",
                                     .schemas = serve_api_schemas,
                                     .protocol = "v1",
                                     .protocol_error = "Status",
                                     .put_refusal = serve_traces_refuse,
                                     .begin = begin,
                                     .end = end};
