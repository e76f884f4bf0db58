# SPDX-License-Identifier: Apache-2.0
"""The score of what xsp says about a program with one planted fault, about the same program without it, and about healthy
ones. Pure: tools/diagnosis records the programs and asks xsp."""
import re

CLAIMS_PCT = 5  # a finding about a program without a fault that claims as much is a false alarm


def claimed_pct(finding):
    for key in ("saving_pct", "share_pct"):
        if finding.get(key) is not None:
            return finding[key]
    return 0.0


def names_line(text, file, line, program, lines):
    """Whether a sentence, or its fields, name one of the lines of the program."""
    if file is not None and str(file).rsplit("/", 1)[-1] == program and line in lines:
        return True
    return any(int(found) in lines for found in re.findall(re.escape(program) + r":(\d+)", text or ""))


def names_cause(said, expected, program):
    """`said`: {"text", "file", "line"}."""
    return (said is not None and re.search(expected["words"], said["text"] or "", re.IGNORECASE) is not None
            and names_line(said["text"], said.get("file"), said.get("line"), program, expected["lines"]))


def said_by(finding):
    """A finding as people read it; its advice counts, too: it names what to change."""
    return {"text": f"{finding['title']}. {finding['advice'] or ''}", "file": finding.get("file"), "line": finding.get("line")}


def said_by_rows(tables):
    for table in tables:
        for row in table["rows"]:
            text = " ".join(str(value) for value in row.values() if isinstance(value, str))
            yield {"text": text, "file": row.get("file"), "line": row.get("line")}


def score_fault(answer, expected, program):
    """0, 1 or 2 for {"cause": {…} or None, "findings": […], "tables": […]}. 2: the first sentence or the top finding names
    the cause and its line. 1: another finding or the row of a table does."""
    findings = [said_by(finding) for finding in answer["findings"]]
    if any(names_cause(said, expected, program) for said in [answer["cause"], *findings[:1]]):
        return 2
    rows = [*findings[1:], *said_by_rows(answer["tables"])]
    return 1 if any(names_cause(said, expected, program) for said in rows) else 0


def false_alarms(answer):
    """What xsp says is wrong with a program that has no fault. Whether its first sentence is true, only a reader can judge."""
    return [f"{finding['id']} {finding['title']} ({claimed_pct(finding):.3g} %)" for finding in answer["findings"]
            if claimed_pct(finding) >= CLAIMS_PCT]
