// SPDX-License-Identifier: Apache-2.0
// Checks manifests as `xsp profile` would take them: the model is opened and its inputs are made, but nothing is run. Called by
// verb_check.c.
#include "agent/constraint.h"
#include "agent/machine.h"
#include "base/json_write.h"
#include "manifests/manifests.h"
#include "programs/xsp/output.h"
#include "programs/xsp/verb_check/check.h"
#include "programs/xsp/verb_profile/profile.h"
#include "report/display.h"

#include <limits.h>
#include <string.h>

struct finding {
  struct arena arena;
  struct manifest manifest;
  const struct predictor *predictor;
  struct probe_result library;
  struct manifest_model model;
  struct profile_ports ports;
  bool is_whole; // all of it was looked at, not the manifest alone
};

static enum status open_model(struct finding *finding, const char *library, struct error *err)
{
  struct arena *arena = &finding->arena;
  const struct manifest *manifest = &finding->manifest;
  char program[PATH_MAX], tracers[PATH_MAX];
  XSP_TRY(install_find("xsp-runner", program, sizeof program, err));
  XSP_TRY(install_find("tracers", tracers, sizeof tracers, err));
  const struct runner_options options = {
      .program = program,
      .tracer_directory = tracers,
      .model_path = finding->model.path,
      .weights_path = finding->model.weights,
      .predictor = finding->predictor->name,
      .library = library,
      .inputs = manifest_inputs(manifest, NULL, arena),
      .dims = manifest_dims(manifest, NULL, arena),
      .expectations = manifest_expectations(manifest, arena),
  };
  finding->ports.arena = arena;
  return profile_ports_read(&options, manifest->batch_count > 0 ? manifest->batches[0] : 1, &finding->ports, err);
}

static enum status check_one(const struct invocation *invocation, const char *path, struct finding *finding,
                             struct error *err)
{
  XSP_TRY(manifest_load(path, &finding->arena, &finding->manifest, err));
  XSP_TRY(manifest_predictor(&finding->manifest, &finding->predictor, err));
  if (invocation_has(invocation, "syntax"))
    return STATUS_OK;
  const char *library = invocation_library(invocation, finding->predictor->name);
  XSP_TRY(manifest_check_library(&finding->manifest, finding->predictor, library, &finding->library, err));
  struct agent_record machine = {0};
  if (finding->manifest.hardware != NULL)
    XSP_TRY(machine_hardware(&finding->arena, &machine, err));
  XSP_TRY(constraints_check_manifest(&finding->manifest, &machine, &finding->arena, err));
  XSP_TRY(manifest_find_model(&finding->manifest, output_message, &finding->arena, &finding->model, err));
  finding->is_whole = true;
  return open_model(finding, library, err);
}

// ---- printing --------------------------------------------------------------------------------------------------------

static const char *fill_text(const struct manifest *manifest, const struct profile_port *port)
{
  for (size_t i = 0; i < manifest->input_count; i++)
    if (strcmp(manifest->inputs[i].expectation.info.name, port->name) == 0 && manifest->inputs[i].fill_text != NULL)
      return manifest->inputs[i].fill_text;
  return "by type and name";
}

static void put_line(struct buf *out, const char *label, const char *text)
{
  buf_format(out, "  %-10s", label);
  display_escape(out, text, strlen(text));
  buf_text(out, "\n");
}

static void print_text(struct finding *finding, struct buf *out)
{
  const struct manifest *manifest = &finding->manifest;
  struct arena *arena = &finding->arena;
  const char *wanted = manifest->framework_version;
  display_escape(out, manifest->path, strlen(manifest->path));
  buf_format(out, ": %s %s%s%s\n", manifest->name, manifest->version, manifest->task != NULL ? ", " : "",
             manifest->task != NULL ? manifest->task : "");
  if (!finding->is_whole) {
    put_line(
        out, "framework",
        arena_format(arena, "%s%s%s", manifest->framework, wanted != NULL ? " " : "", wanted != NULL ? wanted : ""));
    return;
  }
  put_line(out, "framework",
           arena_format(arena, "%s %s%s%s%s, %s", manifest->framework, finding->library.version,
                        wanted != NULL ? " (" : "", wanted != NULL ? wanted : "", wanted != NULL ? ")" : "",
                        finding->library.library));
  put_line(out, "source", finding->model.source);
  put_line(out, "model",
           arena_format(arena, "%s, %zu %s, %.1f MB", finding->model.path, finding->model.files.count,
                        finding->model.files.count == 1 ? "file" : "files", (double)finding->model.files.bytes / 1e6));
  put_line(out, "sha256",
           arena_format(arena, "%s, %s", finding->model.sha256,
                        manifest->sha256 != NULL ? "as in the manifest" : "not in the manifest"));
  for (size_t i = 0; i < finding->ports.list.count; i++) {
    const struct profile_port *port = &finding->ports.list.items[i];
    put_line(out, port->is_output ? "output" : "input",
             arena_format(arena, "%s %s %s%s%s", port->name, port->type != NULL ? port->type : "(unknown type)",
                          port->shape != NULL ? port->shape : "(unknown shape)", port->is_output ? "" : ", filled ",
                          port->is_output ? "" : fill_text(manifest, port)));
  }
  if (manifest->output_count > 0 && !finding->predictor->tells_outputs)
    put_line(out, "outputs", arena_format(arena, "not checked: %s does not report them", manifest->framework));
}

static void print_ports(struct finding *finding, bool is_output, struct json_writer *json)
{
  json_member_array(json, is_output ? "outputs" : "inputs");
  for (size_t i = 0; i < finding->ports.list.count; i++) {
    const struct profile_port *port = &finding->ports.list.items[i];
    if (port->is_output != is_output)
      continue;
    json_object(json);
    json_member_string(json, "name", port->name);
    json_member_string(json, "type", port->type);
    json_member_string(json, "shape", port->shape);
    if (!is_output)
      json_member_string(json, "fill", fill_text(&finding->manifest, port));
    json_object_end(json);
  }
  json_array_end(json);
}

static void print_json(struct finding *finding, const struct error *problem, struct json_writer *json)
{
  const struct manifest *manifest = &finding->manifest;
  char line[2048] = "";
  if (problem->what[0] != 0)
    error_line(problem, line, sizeof line);
  json_object(json);
  json_member_string(json, "manifest", manifest->path);
  json_member_bool(json, "usable", line[0] == 0);
  json_member_string(json, "reason", line[0] != 0 ? line : NULL);
  json_member_string(json, "name", manifest->name);
  json_member_string(json, "version", manifest->version);
  json_member_string(json, "task", manifest->task);
  json_member_string(json, "framework", manifest->framework);
  json_member_string(json, "framework_version", finding->library.version[0] != 0 ? finding->library.version : NULL);
  json_member_string(json, "wanted_version", manifest->framework_version);
  json_member_string(json, "library", finding->library.library[0] != 0 ? finding->library.library : NULL);
  json_member_string(json, "source", finding->model.source);
  json_member_string(json, "path", finding->model.path);
  json_key(json, "graph_bytes");
  if (finding->model.files.count > 0)
    json_int(json, finding->model.files.bytes);
  else
    json_null(json);
  json_member_string(json, "sha256", finding->model.sha256[0] != 0 ? finding->model.sha256 : NULL);
  json_member_string(json, "wanted_sha256", manifest->sha256);
  if (finding->ports.list.count > 0) {
    print_ports(finding, false, json);
    print_ports(finding, true, json);
    json_member_bool(json, "outputs_checked", finding->predictor->tells_outputs);
  }
  json_object_end(json);
}

enum status check_manifests(const struct invocation *invocation, enum report_format format, struct error *err)
{
  struct buf out = {0};
  struct json_writer json;
  struct error first = {0};
  enum status status = STATUS_OK;
  json_start(&json, &out);
  if (format == REPORT_JSON)
    json_array(&json);
  for (size_t i = 0; i < invocation->argument_count; i++) {
    struct finding finding = {.manifest.path = invocation->arguments[i]};
    struct error problem = {0};
    enum status each = check_one(invocation, invocation->arguments[i], &finding, &problem);
    if (format == REPORT_JSON)
      print_json(&finding, &problem, &json);
    else if (each == STATUS_OK)
      print_text(&finding, &out);
    vector_done(&finding.ports.list);
    arena_done(&finding.arena);
    if (each != STATUS_OK && status != STATUS_OK)
      output_error(&problem);
    if (each != STATUS_OK && status == STATUS_OK) {
      first = problem;
      status = each;
    }
  }
  if (format == REPORT_JSON) {
    json_array_end(&json);
    buf_text(&out, "\n");
  }
  enum status printed = output_buf(&out, err);
  if (status != STATUS_OK)
    *err = first;
  return status != STATUS_OK ? status : printed;
}
