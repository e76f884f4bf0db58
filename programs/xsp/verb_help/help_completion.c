// SPDX-License-Identifier: Apache-2.0
// Completion scripts for bash, zsh and fish: verbs, options, the values of options that have few, analyses, files. From the
// verbs' descriptors and the tables of analyses and exports. Called by `xsp help`.
#include "programs/xsp/verb_help/help.h"

#include "base/slice.h"
#include "importers/import.h"
#include "report/report.h"

#include <string.h>

// ---- what may be given -----------------------------------------------------------------------------------------------
// Separated by spaces; none: any value, or a file.
static void put_values(const struct verb *verb, const struct option_description *option, struct buf *out)
{
  const char *name, *summary;
  if (strcmp(verb->name, "export") == 0 && strcmp(option->name, "to") == 0)
    for (size_t i = 0; report_exports[i] != NULL; i++)
      buf_format(out, "%s%s", i > 0 ? " " : "", report_exports[i]->name);
  if (strcmp(verb->name, "import") == 0 && strcmp(option->name, "from") == 0)
    for (size_t i = 0; (name = import_format_at(i, &summary)) != NULL; i++)
      buf_format(out, "%s%s", i > 0 ? " " : "", name);
  for (const char *at = option_has_words(option) ? option->value_name : ""; *at != 0; at++)
    buf_put(out, *at == '|' ? " " : at, 1);
}

static void put_verbs(struct buf *out)
{
  for (size_t i = 0; verbs[i] != NULL; i++)
    buf_format(out, "%s%s", i > 0 ? " " : "", verbs[i]->name);
}

// Plain arguments besides files.
static void put_arguments(const struct verb *verb, struct buf *out)
{
  if (strcmp(verb->name, "help") == 0)
    put_verbs(out);
  for (size_t i = 0; strcmp(verb->name, "analyze") == 0 && analyses[i] != NULL; i++)
    buf_format(out, "%s%s", i > 0 ? " " : "", analyses[i]->id);
}

// ---- bash and zsh ----------------------------------------------------------------------------------------------------
// The same three `case`s, with lists in these brackets.
static void put_cases(const char *open, const char *close, struct buf *out)
{
  struct buf words SCOPED(buf_done) = {0};
  const struct option_description *option;
  buf_text(out, "  case $verb in\n");
  for (size_t i = 0; verbs[i] != NULL; i++) {
    buf_format(out, "    %s) options=%s", verbs[i]->name, open);
    for (size_t j = 0; (option = verb_option_at(verbs[i], j)) != NULL; j++)
      buf_format(out, "%s--%s", j > 0 ? " " : "", option->name);
    buf_format(out, "%s ;;\n", close);
  }
  buf_text(out, "  esac\n  case $verb in\n");
  for (size_t i = 0; verbs[i] != NULL; i++) {
    buf_clear(&words);
    put_arguments(verbs[i], &words);
    if (words.length > 0)
      buf_format(out, "    %s) arguments=%s%s%s ;;\n", verbs[i]->name, open, words.data, close);
  }
  buf_text(out, "  esac\n  case $verb:$previous in\n");
  for (size_t i = 0; verbs[i] != NULL; i++)
    for (size_t j = 0; (option = verb_option_at(verbs[i], j)) != NULL; j++) {
      buf_clear(&words);
      put_values(verbs[i], option, &words);
      if (words.length > 0)
        buf_format(out, "    %s:--%s) values=%s%s%s ;;\n", verbs[i]->name, option->name, open, words.data, close);
    }
  buf_text(out, "  esac\n");
}

static void bash(struct buf *out)
{
  buf_text(out, "# bash completion for xsp, made by `xsp help --completion bash`\n_xsp()\n{\n"
                "  local word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} options= arguments= values=\n"
                "  local previous=${COMP_WORDS[COMP_CWORD-1]}\n"
                "  if [ \"$word\" = = ]; then word=; fi\n" // --format=: bash splits at =
                "  if [ \"$previous\" = = ]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
                "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W \"");
  put_verbs(out);
  buf_text(out, " --help --version\" -- \"$word\"))\n    return\n  fi\n");
  put_cases("\"", "\"", out);
  buf_text(out,
           "  if [ -n \"$values\" ]; then COMPREPLY=($(compgen -W \"$values\" -- \"$word\")); return; fi\n"
           "  case $word in\n    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
           "    *) COMPREPLY=($(compgen -W \"$arguments\" -- \"$word\") $(compgen -f -- \"$word\")) ;;\n  esac\n}\n"
           "complete -o filenames -F _xsp xsp\n");
}

static void zsh(struct buf *out)
{
  buf_text(out, "#compdef xsp\n# zsh completion for xsp, made by `xsp help --completion zsh`\n_xsp()\n{\n"
                "  local verb=$words[2] previous=$words[CURRENT-1]\n  local -a options arguments values\n"
                "  if (( CURRENT == 2 )); then\n    compadd -- ");
  put_verbs(out);
  buf_text(out, " --help --version\n    return\n  fi\n"
                "  if [[ $PREFIX == --*=* ]]; then previous=${PREFIX%%=*}; compset -P '*='; fi\n");
  put_cases("(", ")", out);
  buf_text(out, "  if (( $#values )); then compadd -- $values\n  elif [[ $PREFIX == -* ]]; then compadd -- $options\n"
                "  else compadd -- $arguments; _files; fi\n}\n"
                "if [[ $funcstack[1] == _xsp ]]; then _xsp \"$@\"; else compdef _xsp xsp; fi\n");
}

// ---- fish ------------------------------------------------------------------------------------------------------------
static void fish_verb(const struct verb *verb, struct buf *out)
{
  struct buf words SCOPED(buf_done) = {0};
  const struct option_description *option;
  buf_format(out, "complete -c xsp -n __fish_use_subcommand -f -a %s -d '%s'\n", verb->name, verb->summary);
  put_arguments(verb, &words);
  if (words.length > 0)
    buf_format(out, "complete -c xsp -n '__fish_seen_subcommand_from %s' -a '%s'\n", verb->name, words.data);
  for (size_t i = 0; (option = verb_option_at(verb, i)) != NULL; i++) {
    buf_format(out, "complete -c xsp -n '__fish_seen_subcommand_from %s' -l %s", verb->name, option->name);
    if (option->letter != 0)
      buf_format(out, " -s %c", option->letter);
    buf_clear(&words);
    put_values(verb, option, &words);
    if (words.length > 0)
      buf_format(out, " -x -a '%s'", words.data);
    buf_format(out, "%s\n", words.length == 0 && option->value_name != NULL ? " -r" : "");
  }
}

static void fish(struct buf *out)
{
  buf_text(out, "# fish completion for xsp, made by `xsp help --completion fish`\n"
                "complete -c xsp -n __fish_use_subcommand -f -l help\n"
                "complete -c xsp -n __fish_use_subcommand -f -l version\n");
  for (size_t i = 0; verbs[i] != NULL; i++)
    fish_verb(verbs[i], out);
}

bool help_completion(const char *shell, struct buf *out)
{
  static const struct {
    const char *name;
    void (*put)(struct buf *out);
  } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
  for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
    if (strcmp(shells[i].name, shell) == 0) {
      shells[i].put(out);
      return true;
    }
  return false;
}
