#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pycocotools 2.0.11 counts a found object as missed if its annotation has the id 0. COCO's format allows any unique
# number, so one expects an average precision of 1 for detections that equal the ground truth. COCOeval writes the
# matched annotation's id into a table where 0 means "no match": with ids 0 and 1 it reports 0.25.
set -eu
trap 'exit 1' HUP INT TERM
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python3" -m pip install -q --disable-pip-version-check pycocotools==2.0.11 numpy==2.4.6
"$folder/venv/bin/python3" - <<'EOF'
import contextlib, importlib.metadata, io, sys
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

BOXES = [[10, 10, 20, 20], [50, 10, 20, 20]]


def average_precision(first_id):
    """Returns the average precision of detections that equal the two annotations first_id and first_id + 1."""
    truth = COCO()
    annotations = [{"id": first_id + number, "image_id": 1, "category_id": 1, "bbox": box, "area": 400, "iscrowd": 0}
                   for number, box in enumerate(BOXES)]
    truth.dataset = {"info": {}, "images": [{"id": 1, "width": 100, "height": 100}],
                     "categories": [{"id": 1, "name": "box"}], "annotations": annotations}
    truth.createIndex()
    found = truth.loadRes([{"image_id": 1, "category_id": 1, "bbox": box, "score": 0.9} for box in BOXES])
    evaluation = COCOeval(truth, found, "bbox")
    evaluation.evaluate()
    evaluation.accumulate()
    evaluation.summarize()
    return evaluation.stats[0]


with contextlib.redirect_stdout(io.StringIO()):
    from_zero, from_one = average_precision(0), average_precision(1)
print("pycocotools", importlib.metadata.version("pycocotools"))
print("expected: average precision 1 for ids 0 and 1, as for ids 1 and 2")
print(f"seen:     {from_zero:.4f} for ids 0 and 1, {from_one:.4f} for ids 1 and 2")
sys.exit(not (from_one > 0.999 and from_zero < 0.5))
EOF
