#!/usr/bin/env python3
"""Reads the text in a picture with three models: where text is, whether it is upside down, what it says (PP-OCR).

    xsp run -o ocr.xsp -- python3 recogniser.py                      # one process
    xsp run --publish URL -- python3 recogniser.py --serve recognition --listen HOST:PORT
    xsp run --publish URL -- python3 recogniser.py --at recognition=http://HOST:PORT

A model with --at runs in another process, which continues the caller's trace. docs/merge.md has the whole of it. Needs numpy, opencv-python-headless,
onnxruntime, and the models of PyPI's rapidocr-onnxruntime (pip install --no-deps rapidocr-onnxruntime==1.4.4)."""
import argparse
import http.server
import importlib.util
import io
import pathlib
import threading
import urllib.request

import cv2
import numpy
import onnxruntime

import xsp

FILES = {"detection": "ch_PP-OCRv4_det_infer.onnx", "orientation": "ch_ppocr_mobile_v2.0_cls_infer.onnx",
         "recognition": "ch_PP-OCRv4_rec_infer.onnx"}
LINES = ("HELLO XSP", "THREE MODELS", "ONE TRACE 2026")


class Model:
    """A model in this process: an array in, an array out."""

    def __init__(self, name, threads):
        package = pathlib.Path(importlib.util.find_spec("rapidocr_onnxruntime").submodule_search_locations[0])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.name = name
        self.session = onnxruntime.InferenceSession(package / "models" / FILES[name], options, ["CPUExecutionProvider"])

    def __call__(self, batch):
        with xsp.span(self.name):
            return self.session.run(None, {self.session.get_inputs()[0].name: batch})[0]

    def answer(self, batch, traceparent):
        """The same for a caller in another process."""
        with xsp.span(f"serve {self.name}"):
            if traceparent:
                xsp.set_traceparent(traceparent)
            return self(batch)


class Remote:
    """A model in another process."""

    def __init__(self, name, url):
        self.name, self.url = name, url

    def __call__(self, batch):
        with xsp.span(f"call {self.name}"):
            body = io.BytesIO()
            numpy.save(body, batch)
            request = urllib.request.Request(self.url, body.getvalue(), {"traceparent": xsp.traceparent() or ""})
            with urllib.request.urlopen(request, timeout=60) as reply:
                return numpy.load(io.BytesIO(reply.read()))


def serve(model, host, port):
    """Answers until a request without an array comes."""
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body, reply = self.rfile.read(int(self.headers["Content-Length"])), io.BytesIO()
            if body:
                numpy.save(reply, model.answer(numpy.load(io.BytesIO(body)), self.headers["traceparent"]))
            else:
                threading.Thread(target=server.shutdown).start()
            self.send_response(200)
            self.send_header("Content-Length", str(len(reply.getvalue())))
            self.end_headers()
            self.wfile.write(reply.getvalue())

        def log_message(self, *arguments):
            pass

    server = http.server.HTTPServer((host, port), Handler)
    print(f"{model.name} at {host}:{server.server_port}", flush=True)
    server.serve_forever()


def picture():
    image = numpy.full((320, 640, 3), 255, numpy.uint8)
    for number, line in enumerate(LINES):
        cv2.putText(image, line, (40, 80 + 90 * number), cv2.FONT_HERSHEY_SIMPLEX, 1.6, (0, 0, 0), 3, cv2.LINE_AA)
    image[120:210] = image[120:210][::-1, ::-1]  # the second line is upside down
    return image


def normal(image):
    """What the models want: between -1 and 1, channels first."""
    return (image.astype(numpy.float32) / 127.5 - 1).transpose(2, 0, 1)


def fitted(image, width, height=48):
    """The line at that height, with empty space to its right."""
    scaled = min(width, max(1, round(image.shape[1] * height / image.shape[0])))
    space = numpy.zeros((3, height, width), numpy.float32)
    space[:, :, :scaled] = normal(cv2.resize(image, (scaled, height)))
    return space


def boxes(probability):
    """Lines of text, top to bottom."""
    contours, _ = cv2.findContours((probability > 0.3).astype(numpy.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    found = [cv2.boundingRect(contour) for contour in contours]
    for x, y, width, height in sorted((box for box in found if box[2] > 20 and box[3] > 5), key=lambda box: box[1]):
        edge = round(height * 0.6)
        yield max(0, y - edge), y + height + edge, max(0, x - edge), x + width + edge


def text(scores, characters):
    best = scores.argmax(1)
    return "".join(characters[index] for before, index in zip([0, *best], best) if index not in (0, before))


def recognise(image, models, characters):
    with xsp.span("recognise text"):
        detected = models["detection"](normal(image)[None])[0, 0]
        lines = [image[top:bottom, left:right] for top, bottom, left, right in boxes(detected)]
        turned = models["orientation"](numpy.stack([fitted(line, 192) for line in lines]))
        lines = [line[::-1, ::-1] if scores.argmax() == 1 else line for line, scores in zip(lines, turned)]
        width = max(320, max(round(line.shape[1] * 48 / line.shape[0]) for line in lines))
        return [text(scores, characters) for scores in models["recognition"](numpy.stack([fitted(line, width) for line in lines]))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", choices=FILES, help="answer for this model")
    parser.add_argument("--listen", default="127.0.0.1:0", metavar="HOST:PORT")
    parser.add_argument("--at", action="append", default=[], metavar="MODEL=URL", help="this model runs there")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    if given.serve:
        host, _, port = given.listen.rpartition(":")
        return serve(Model(given.serve, given.threads), host, int(port))
    places = dict(place.split("=", 1) for place in given.at)
    models = {name: Remote(name, places[name]) if name in places else Model(name, given.threads) for name in FILES}
    package = pathlib.Path(importlib.util.find_spec("rapidocr_onnxruntime").submodule_search_locations[0])
    vocabulary = onnxruntime.InferenceSession(package / "models" / FILES["recognition"], providers=["CPUExecutionProvider"])
    characters = ["", *vocabulary.get_modelmeta().custom_metadata_map["character"].splitlines(), " "]
    del vocabulary
    with xsp.span("read pictures"):
        for _ in range(given.times):
            found = recognise(picture(), models, characters)
    print("\n".join(found))
    for url in places.values():
        urllib.request.urlopen(urllib.request.Request(url, b""), timeout=60).close()


if __name__ == "__main__":
    main()
