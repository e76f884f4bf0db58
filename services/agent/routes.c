// SPDX-License-Identifier: Apache-2.0
// All that an agent answers, one line each.
#include "agent/agent_private.h"
#include "agent/evaluation_routes.h"
#include "agent/model_routes.h"
#include "agent/page_routes.h"
#include "http/openapi.h"

#define JSON "application/json"

static const struct route_body evaluation = {ROUTE_BODY_IN_MEMORY, {JSON}, "EvaluationRequest", false};
static const struct route_body manifest = {ROUTE_BODY_IN_MEMORY, {"application/yaml"}, NULL, false};

// clang-format off
static const struct route routes[] = {
    // method, path, summary, parameters, type, schema, body, begin, answer
    {"GET", "/", "A page to start, watch and compare evaluations", NULL, "text/html", NULL, ROUTE_NO_BODY, NULL, agent_show_html},
    {"GET", "/page.css", "Its style", NULL, "text/css", NULL, ROUTE_NO_BODY, NULL, agent_show_style},
    {"GET", "/page.js", "Its script", NULL, "text/javascript", NULL, ROUTE_NO_BODY, NULL, agent_show_script},
    {"GET", "/evaluations", "List the evaluations, the oldest first", NULL, JSON, "Evaluations", ROUTE_NO_BODY, NULL,
     agent_evaluations_show},
    {"POST", "/evaluations", "Evaluate models over a data set of the agent; while too many wait, 429 or 503 and Retry-After",
     NULL, JSON, "Job", &evaluation, NULL, agent_evaluation_add},
    {"GET", "/evaluations/{id}", "How far an evaluation is, and its table", NULL, JSON, "Evaluation", ROUTE_NO_BODY, NULL,
     agent_evaluation_show},
    {"DELETE", "/evaluations/{id}", "End an evaluation, or remove its result", NULL, JSON, NULL, ROUTE_NO_BODY, NULL,
     agent_evaluation_remove},
    {"GET", "/evaluations/{id}/file", "The trace of an evaluation, an .xsp file", NULL, "application/vnd.sqlite3", NULL,
     ROUTE_NO_BODY, NULL, agent_evaluation_file},
    {"GET", "/models", "List the models", NULL, JSON, "Models", ROUTE_NO_BODY, NULL, agent_models_show},
    {"PUT", "/models/{name}", "Publish a model: the body is its manifest", NULL, JSON, NULL, &manifest, NULL,
     agent_model_put},
    {"DELETE", "/models/{name}", "Remove the manifest of a model", NULL, JSON, NULL, ROUTE_NO_BODY, NULL, agent_model_remove},
    {"GET", "/data", "List the data sets", NULL, JSON, "DataSets", ROUTE_NO_BODY, NULL, agent_data_show},
    {"GET", "/system", "What the agent registers", NULL, JSON, "System", ROUTE_NO_BODY, NULL, agent_system_show},
    {"GET", "/openapi.json", "This description", NULL, JSON, "OpenApi", ROUTE_NO_BODY, NULL, openapi_answer},
    {0},
};
// clang-format on

__asm__(".pushsection .rodata\n"
        ".global agent_schemas\n"
        "agent_schemas:\n"
        ".incbin \"" XSP_AGENT_SCHEMAS "\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char agent_schemas[];

const struct http_site agent_site = {
    .routes = routes, .title = "xsp agent", .description = "/openapi.json", .schemas = agent_schemas};
