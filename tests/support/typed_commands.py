# SPDX-License-Identifier: Apache-2.0
"""The ```console blocks of a page, typed into one shell, and what they print compared with what the page shows.

A line that begins with `$ ` is a command; the lines below it are its whole output, stdout and stderr. `…` stands for any
lines; a command without lines below it may print anything. A ```python block that begins with `# NAME.py` is a file.
Not compared: words with a figure, units, widths of columns, and the words in a table's rows: which layer is the longest
depends on the machine and its load."""
import pathlib
import re
import subprocess

MARK = "==== typed "
UNIT = re.compile(r"(ns|µs|us|ms|s|min|B|kB|KiB|MB|MiB|GB|GiB)[,;]?")
REST = "…"


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def files(page):
    """{name: content}"""
    found = [(re.match(r"# (\S+\.py)\n", block), block) for block in blocks(page, "python")]
    return {name.group(1): block for name, block in found if name}


def commands(page):
    """[(command, lines that it prints)] in the page's order."""
    found = []
    for line in "".join(blocks(page, "console")).splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


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
    """Each line without what is not compared. A table's rows are between its rule and an empty line."""
    in_rows, found = False, []
    for line in lines:
        in_rows &= line != ""
        words = ["#" if in_rows and line != REST else masked_word(word) for word in line.split()]
        in_rows |= words == ["─"]
        found.append(" ".join(words))
    return found


def is_printed(expected, actual):
    """Whether these lines are what the page shows."""
    pattern = "".join(r"(.*\n)*" if line == REST else re.escape(line) + r"\n" for line in masked(expected))
    return re.fullmatch(pattern, "".join(line + "\n" for line in masked(actual))) is not None
