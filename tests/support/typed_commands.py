# SPDX-License-Identifier: Apache-2.0
"""Pages that a test follows: their blocks, and their commands, typed into one shell and compared with what the page shows.

    ```python file=PATH  a new file (any language)
    ```console           commands after "$ "; the lines below a command are all that it prints

is_printed: a line "..." is any lines; a command without lines below it may print anything.
Not compared: words with a figure, units, widths of columns, and the words in a table's rows and in the summary's `lines`: which
layer or line takes longest depends on the machine and its load."""
import re
import subprocess

MARK = "==== typed "
UNIT = re.compile(r"(ns|µs|us|ms|s|min|B|kB|KiB|MB|MiB|GB|GiB)[,;]?")
REST = "..."


def blocks(page):
    """(language, file or None, lines) of each fenced block of a text."""
    for match in re.finditer(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", page, re.S | re.M):
        yield match[1], match[2], match[3].splitlines()


def commands(lines):
    """[(command, lines that it prints)] of a console block."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def write_files(page, folder):
    """Returns the files' names."""
    files = {name: lines for _, name, lines in blocks(page) if name is not None}
    for name, lines in files.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return list(files)


def commands_of(page):
    return [command for kind, _, lines in blocks(page) if kind == "console" for command in commands(lines)]


def typed(texts, folder, environment, seconds):
    """Runs the commands in one shell; returns (status, lines) of each."""
    script = "".join(f"{text}\necho; echo '{MARK}'$?\n" for text in texts)
    result = subprocess.run(["bash", "-c", script], stdin=subprocess.DEVNULL, cwd=folder, env=environment, timeout=seconds, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    answers = re.split(rf"\n{MARK}(\d+)\n", result.stdout)
    return [(int(status), lines.strip("\n").splitlines()) for lines, status in zip(answers[::2], answers[1::2])]


def masked_word(word):
    if set(word) == {"─"}:
        return "─"
    return "#" if re.search(r"\d", word) else "unit" if UNIT.fullmatch(word) else word


def masked(lines):
    """Each line without what is not compared. A table's rows are between its rule and an empty line; a cell may have words."""
    in_rows, found = False, []
    for line in lines:
        in_rows &= line != ""
        cells = re.split(r"\s{2,}", line.strip()) if in_rows and line != REST else []
        words = ["#" for _ in cells] or [masked_word(word) for word in line.split()]
        if words[:1] == ["lines"]:
            words = ["lines"]
        in_rows |= words == ["─"]
        found.append(" ".join(words))
    return found


def is_printed(expected, actual):
    """Whether these lines are what the page shows."""
    pattern = "".join(r"(.*\n)*" if line == REST else re.escape(line) + r"\n" for line in masked(expected))
    return re.fullmatch(pattern, "".join(line + "\n" for line in masked(actual))) is not None
