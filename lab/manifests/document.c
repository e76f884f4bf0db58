// SPDX-License-Identifier: Apache-2.0
// libyaml's events into a tree; see document.h. Event by event: a file is refused at its first fault, and nothing is
// expanded.
#include "manifests/document.h"

#include "base/memory.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#define DEPTH_MAXIMUM 8
#define NODES_MAXIMUM 4096
#define PLAIN_MAXIMUM 128 // a longer plain scalar is text

// YAML 1.1's types of plain scalars (yaml.org/type), as its readers implement them, PyYAML's among them.
static const struct {
  enum document_kind kind;
  const char *pattern;
} plain_kinds[] = {
    {NODE_NOTHING, "^(~|null|Null|NULL|)$"},
    {NODE_BOOLEAN, "^(yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$"},
    {NODE_INTEGER, "^([-+]?0b[01_]+|[-+]?0[0-7_]+|[-+]?(0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|"
                   "[-+]?[1-9][0-9_]*(:[0-5]?[0-9])+)$"},
    {NODE_NUMBER, "^([-+]?[0-9][0-9_]*\\.[0-9_]*([eE][-+][0-9]+)?|\\.[0-9][0-9_]*([eE][-+][0-9]+)?|"
                  "[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\\.[0-9_]*|[-+]?\\.(inf|Inf|INF)|\\.(nan|NaN|NAN))$"},
    {NODE_DATE, "^[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?([Tt \t].*)?$"},
};
#define PLAIN_KINDS (sizeof plain_kinds / sizeof plain_kinds[0])

struct document {
  const char *path;
  const char *bytes;
  size_t size;
  struct arena *arena;
  struct error *err;
  yaml_parser_t parser;
  regex_t patterns[PLAIN_KINDS];
  size_t nodes;
};

const char *document_kind_name(enum document_kind kind)
{
  static const char *const names[] = {
      [NODE_NOTHING] = "nothing", [NODE_BOOLEAN] = "a boolean", [NODE_INTEGER] = "a whole number",
      [NODE_NUMBER] = "a number", [NODE_DATE] = "a date",       [NODE_TEXT] = "text",
      [NODE_LIST] = "a list",     [NODE_MAP] = "a mapping",
  };
  return names[kind];
}

void document_where(const char *path, size_t line, char *where, size_t size)
{
  size_t length = strlen(path), room = size - 32; // the line is never what is cut
  snprintf(where, size, "%s%s:%zu", length > room ? "..." : "", path + (length > room ? length - room : 0), line);
}

static enum status refuse(struct document *document, size_t line, const char *advice, const char *why)
{
  char where[512];
  document_where(document->path, line, where, sizeof where);
  return error_set(document->err, STATUS_INPUT, "wrong manifest", where, advice != NULL ? advice : "docs/manifests.md",
                   "%s", why);
}

// libyaml's own words, at the line it means: the reader knows only the byte.
static enum status explain(struct document *document)
{
  const yaml_parser_t *parser = &document->parser;
  if (parser->error == YAML_MEMORY_ERROR)
    memory_exhausted();
  char why[256];
  size_t line = parser->problem_mark.line + 1;
  if (parser->error == YAML_READER_ERROR) {
    line = 1;
    for (size_t i = 0; i < parser->problem_offset && i < document->size; i++)
      line += document->bytes[i] == '\n';
  }
  const char *problem = parser->problem != NULL ? parser->problem : "it cannot be read";
  if (parser->context != NULL)
    snprintf(why, sizeof why, "%s, %s", problem, parser->context);
  else if (parser->error == YAML_READER_ERROR && parser->problem_value != -1)
    snprintf(why, sizeof why, "%s (byte 0x%02x)", problem, (unsigned)parser->problem_value);
  else
    snprintf(why, sizeof why, "%s", problem);
  const char *advice = strstr(why, "cannot start any token") != NULL || strstr(why, "tab char") != NULL
                           ? "spaces instead of tabs, quotes around the text"
                           : "docs/manifests.md";
  return refuse(document, line, advice, why);
}

static enum status next_event(struct document *document, yaml_event_t *ret_event)
{
  return yaml_parser_parse(&document->parser, ret_event) ? STATUS_OK : explain(document);
}

static enum document_kind scalar_kind(const struct document *document, const yaml_event_t *event)
{
  if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE || event->data.scalar.length > PLAIN_MAXIMUM)
    return NODE_TEXT;
  for (size_t i = 0; i < PLAIN_KINDS; i++)
    if (regexec(&document->patterns[i], (const char *)event->data.scalar.value, 0, NULL, 0) == 0)
      return plain_kinds[i].kind;
  return NODE_TEXT;
}

// Refuses what YAML has and a manifest does not need: each would make its meaning depend on more than its lines.
static enum status refuse_extras(struct document *document, const yaml_event_t *event)
{
  size_t line = event->start_mark.line + 1;
  if (event->type == YAML_ALIAS_EVENT)
    return refuse(document, line, "the value itself", "aliases are not taken");
  if (event->data.scalar.anchor != NULL) // lists and mappings begin with the same members as scalars
    return refuse(document, line, "the same without '&'", "anchors are not taken");
  if (event->data.scalar.tag != NULL)
    return refuse(document, line, "the same without '!'", "tags are not taken");
  return STATUS_OK;
}

static enum status make_node(struct document *document, const yaml_event_t *event, struct document_node **ret_node)
{
  XSP_TRY(refuse_extras(document, event));
  if (++document->nodes > NODES_MAXIMUM)
    return refuse(document, event->start_mark.line + 1, NULL, "too many entries");
  struct document_node *node = arena_alloc(document->arena, sizeof *node);
  node->line = (unsigned)event->start_mark.line + 1;
  node->text = "";
  node->kind = event->type == YAML_MAPPING_START_EVENT ? NODE_MAP : NODE_LIST;
  if (event->type == YAML_SCALAR_EVENT) {
    node->kind = scalar_kind(document, event);
    node->text = arena_copy(document->arena, (const char *)event->data.scalar.value, event->data.scalar.length);
    if (strlen(node->text) != event->data.scalar.length)
      return refuse(document, node->line, "the same without it", "a NUL character in a text");
  }
  *ret_node = node;
  return STATUS_OK;
}

struct open_node { // whose entries are being read
  struct document_node *node;
  struct document_node *last;
  const char *key; // of a map: read, its value not yet
  unsigned key_line;
};

// A map's entries come as key and value in turn; keys are texts.
static enum status add_entry(struct document *document, struct open_node *open, struct document_node *node)
{
  if (open->node->kind == NODE_MAP && open->key == NULL) {
    if (node->kind != NODE_TEXT)
      return refuse(document, node->line, "NAME: VALUE", "a key must be a word");
    for (const struct document_node *other = open->node->first; other != NULL; other = other->next)
      if (strcmp(other->key, node->text) == 0) {
        char why[192];
        snprintf(why, sizeof why, "the key %.100s is given twice, first in line %u", node->text, other->key_line);
        return refuse(document, node->line, "one of them", why);
      }
    open->key = node->text;
    open->key_line = node->line;
    return STATUS_OK;
  }
  node->key = open->key;
  node->key_line = open->key_line;
  open->key = NULL;
  *(open->last != NULL ? &open->last->next : &open->node->first) = node;
  open->last = node;
  open->node->count++;
  return STATUS_OK;
}

// From the first event of a node to its last.
static enum status read_tree(struct document *document, yaml_event_t *event, struct document_node **ret_root)
{
  struct open_node open[DEPTH_MAXIMUM] = {0};
  size_t depth = 0;
  for (;;) {
    if (event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT) {
      depth--;
    } else {
      struct document_node *node = NULL;
      XSP_TRY(make_node(document, event, &node));
      if (depth == 0)
        *ret_root = node;
      else
        XSP_TRY(add_entry(document, &open[depth - 1], node));
      if (event->type != YAML_SCALAR_EVENT && depth == DEPTH_MAXIMUM)
        return refuse(document, node->line, "docs/manifests.md", "lists and mappings are nested too deeply");
      if (event->type != YAML_SCALAR_EVENT)
        open[depth++] = (struct open_node){.node = node};
    }
    if (depth == 0)
      return STATUS_OK;
    yaml_event_delete(event);
    XSP_TRY(next_event(document, event));
  }
}

static enum status read_document(struct document *document, struct document_node **ret_root)
{
  for (;;) {
    yaml_event_t event;
    XSP_TRY(next_event(document, &event));
    yaml_event_type_t type = event.type;
    size_t line = event.start_mark.line + 1;
    enum status status = STATUS_OK;
    if (type == YAML_STREAM_END_EVENT && *ret_root == NULL)
      status = refuse(document, line, "docs/manifests.md", "it is empty");
    else if (type == YAML_DOCUMENT_START_EVENT && *ret_root != NULL)
      status = refuse(document, line, "a file for each", "a second document begins");
    else if (type != YAML_STREAM_START_EVENT && type != YAML_STREAM_END_EVENT && type != YAML_DOCUMENT_START_EVENT &&
             type != YAML_DOCUMENT_END_EVENT)
      status = read_tree(document, &event, ret_root);
    yaml_event_delete(&event);
    if (status != STATUS_OK || type == YAML_STREAM_END_EVENT)
      return status;
  }
}

enum status document_parse(const char *bytes, size_t size, const char *path, struct arena *arena,
                           struct document_node **ret_root, struct error *err)
{
  struct document document = {.path = path, .bytes = bytes, .size = size, .arena = arena, .err = err};
  *ret_root = NULL;
  if (size > DOCUMENT_BYTES_MAXIMUM)
    return error_set(err, STATUS_INPUT, "wrong manifest", path, NULL, "not a manifest: larger than %zu KiB",
                     DOCUMENT_BYTES_MAXIMUM >> 10);
  if (!yaml_parser_initialize(&document.parser))
    memory_exhausted();
  yaml_parser_set_encoding(&document.parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&document.parser, (const unsigned char *)(size > 0 ? bytes : ""),
                               size); // it aborts at NULL
  for (size_t i = 0; i < PLAIN_KINDS; i++)
    if (regcomp(&document.patterns[i], plain_kinds[i].pattern, REG_EXTENDED | REG_NOSUB) != 0)
      memory_exhausted();
  enum status status = read_document(&document, ret_root);
  for (size_t i = 0; i < PLAIN_KINDS; i++)
    regfree(&document.patterns[i]);
  yaml_parser_delete(&document.parser);
  return status;
}
