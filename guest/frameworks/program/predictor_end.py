# ---- the conversation ------------------------------------------------------------------------------------------------------------
# The build appends this file to predictor.py of each framework that has one, so that it is one program: it answers xsp's requests by
# the methods of `Predictor`. A Refusal is reported as it is, any other error with its type.
import socket


def one_line(error):
    text = str(error) if isinstance(error, Refusal) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:1000].encode(errors="replace").decode() or type(error).__name__


def main():
    predictor = Predictor()
    lines = socket.socket(fileno=int(os.environ["XSP_PREDICTOR_FD"])).makefile("rw", encoding="utf-8")
    for request in map(json.loads, lines):
        if request["request"] == "close":
            break
        try:
            answer = getattr(predictor, request["request"])(request)
        except (Exception, SystemExit) as error:
            answer = {"error": one_line(error)}
        print(json.dumps(answer), file=lines, flush=True)


if __name__ == "__main__":
    main()
