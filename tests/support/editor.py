# SPDX-License-Identifier: Apache-2.0
"""VS Code with xsp's extension in real Chromium, served by code-server: opens files, runs commands, reads problems."""
import json
import os
import pathlib
import shutil
import subprocess
import time
import urllib.error
import urllib.request

import browser
from editor_environment import code_server
from ports import unused_port

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"]) if os.environ.get("XSP_SOURCE") else pathlib.Path(__file__).parents[2]
WAIT_S = 600
SETTINGS = {"workbench.startupEditor": "none", "telemetry.telemetryLevel": "off", "update.mode": "none",
            "chat.disableAIFeatures": True, "extensions.ignoreRecommendations": True, "window.autoDetectColorScheme": True,
            "security.workspace.trust.startupPrompt": "never", "workbench.tips.enabled": False, "workbench.secondarySideBar.defaultVisibility": "hidden", "editor.minimap.enabled": False}

# A line's text and its number are at the same height.
MARGIN = """() => {
  const top = (element) => Math.round(element.getBoundingClientRect().top), numbers = new Map(), found = {};
  for (const one of document.querySelectorAll(".monaco-editor .line-numbers")) numbers.set(top(one), one.innerText.trim());
  for (const line of document.querySelectorAll(".monaco-editor .view-line"))
    for (const part of line.querySelectorAll("span")) {
      const text = getComputedStyle(part, "::before").content.replace(/^"|"$/g, "");
      if (text.includes("·")) found[numbers.get(top(line))] = text;
    }
  return found;
}"""


class Editor:
    """A server with the extension, and a window that shows `folder`."""

    def __init__(self, vsix, folder, data, settings=None, size=(1440, 900), scheme="dark"):
        self.folder, self.data, self.server, self.context = folder, data, None, None
        for place in ("User", "Machine"):  # the second has what belongs to the server's machine, as paths do
            (data / "data" / place).mkdir(parents=True)
            (data / "data" / place / "settings.json").write_text(json.dumps({**SETTINGS, **(settings or {})}))
        self.program = [*code_server(), "--server-data-dir", str(data), "--extensions-dir", str(data / "extensions"),
                        "--accept-server-license-terms"]
        subprocess.run([*self.program, "--install-extension", str(vsix)], check=True, timeout=600, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT)
        port = unused_port()
        with open(data / "server.log", "w", encoding="utf-8") as log:
            self.server = subprocess.Popen([*self.program, "--host", "127.0.0.1", "--port", str(port),
                                            "--without-connection-token", "--telemetry-level", "off",
                                            "--default-folder", str(folder)], stdout=log, stderr=log)
        self.url = f"http://localhost:{port}/"
        self.wait_for(self.answers, "the server's answer")
        self.context = browser.chromium().new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
        self.context.set_default_timeout(WAIT_S * 1000)
        self.page = self.context.new_page()
        self.page.goto(self.url)
        self.page.locator(".explorer-folders-view .monaco-list-row").first.wait_for()
        self.wait_for(self.has_extension, "the extension's commands")

    def close(self):
        if self.context is not None:
            self.context.close()
        if self.server is not None:
            self.server.terminate()
            self.server.wait(timeout=600)
        shutil.rmtree(self.data, ignore_errors=True)

    def wait_for(self, is_there, what):
        end = time.monotonic() + WAIT_S
        while not (found := is_there()):
            if time.monotonic() > end:
                raise AssertionError(f"{what} did not come within {WAIT_S} s")
            time.sleep(0.1)
        return found

    def answers(self):
        try:
            return urllib.request.urlopen(self.url, timeout=5).status == 200
        except (urllib.error.URLError, OSError):
            if self.server.poll() is not None:
                raise AssertionError((self.data / "server.log").read_text(encoding="utf-8")) from None
            return False

    # ---- the workbench
    def offers(self, text):
        self.page.locator(".explorer-folders-view").click(position={"x": 150, "y": 300})  # a webview would take the key
        self.page.keyboard.press("F1")
        self.page.locator(".quick-input-box input").fill(f">{text}")
        self.page.wait_for_timeout(300)  # the list is filtered later
        return self.page.locator(".quick-input-list .monaco-list-row").filter(has_text=text)

    def has_extension(self):  # contributions come after the explorer
        has = self.offers("xsp: Refresh").count() > 0
        self.page.keyboard.press("Escape")
        return has

    def command(self, text):
        self.offers(text).first.click()

    def open(self, name):
        self.page.locator(".explorer-folders-view .monaco-list-row").filter(has_text=name).first.dblclick()

    def tab(self, name):
        return self.page.locator(f'.tab[data-resource-name="{name}"]')

    def webview(self, selector):
        """The frame of the webview that has an element."""
        def look():
            for frame in self.page.frames:
                try:
                    if frame.locator(selector).count() > 0:
                        return frame
                except browser.playwright_error():
                    pass  # a frame that is going away
            return None
        return self.wait_for(look, f"{selector} in a webview")

    def line(self):
        """The marked line of the source file shown."""
        found = self.page.locator(".line-numbers.active-line-number")
        return int(found.inner_text()) if found.count() == 1 else None

    def margin(self):
        """Texts of the margin by line, of the lines on the screen."""
        return {int(line): text for line, text in self.page.evaluate(MARGIN).items()}

    def problems(self):
        """Rows of the Problems panel, as text."""
        rows = self.page.locator(".markers-panel .monaco-list-row")
        return [" ".join(text.split()) for text in rows.all_inner_texts()]
