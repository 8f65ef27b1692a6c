// A headless Chromium, spoken to over a pipe (--remote-debugging-pipe: NUL between messages): no port, no package.
import {spawn, spawnSync} from "node:child_process";
import {mkdtempSync, rmSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";

export function findChromium() {
  for (const name of [process.env.CHROMIUM, "chromium", "chromium-browser", "google-chrome"]) {
    if (name && spawnSync(name, ["--version"], {stdio: "ignore"}).status === 0) return name;
  }
  return null;
}

export async function startBrowser(program) {
  const profile = mkdtempSync(join(tmpdir(), "onnx_mem_browser_"));
  const child = spawn(program, ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                                "--remote-debugging-pipe", "--user-data-dir=" + profile, "--no-first-run",
                                "--disable-background-networking", "--disable-component-update", "about:blank"],
                      {stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"]});
  const [to, from] = [child.stdio[3], child.stdio[4]];
  const waiting = new Map();
  const listeners = [];
  let next = 0;
  let rest = "";
  from.setEncoding("utf8");
  from.on("data", (chunk) => {
    const messages = (rest + chunk).split("\0");
    rest = messages.pop();
    for (const text of messages) {
      const message = JSON.parse(text);
      if (message.id === undefined) {
        listeners.forEach((listener) => listener(message));
        continue;
      }
      const {resolve, reject} = waiting.get(message.id);
      waiting.delete(message.id);
      message.error ? reject(new Error(message.error.message)) : resolve(message.result);
    }
  });
  const send = (method, params = {}, sessionId = undefined) => new Promise((resolve, reject) => {
    waiting.set(++next, {resolve, reject});
    to.write(JSON.stringify({id: next, method, params, sessionId}) + "\0");
  });
  const close = async () => {
    const gone = new Promise((resolve) => child.on("exit", resolve));
    send("Browser.close").catch(() => {});
    const stop = setTimeout(() => child.kill("SIGKILL"), 5000);
    await gone;
    clearTimeout(stop);
    // Its helper processes may outlive it and write into the profile: what is left then belongs to no test.
    for (let attempt = 0; attempt < 20; ++attempt) {
      try {
        return rmSync(profile, {recursive: true, force: true});
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  };
  return {send, close, listen: (listener) => listeners.push(listener)};
}

// A tab with `file`, a path or an address, in it. `log` gathers what should not happen: messages on the console, exceptions, requests.
export async function openPage(browser, file, {width = 1280, height = 800, dark = false, script = true, before = "", fragment = ""} = {}) {
  const {targetId} = await browser.send("Target.createTarget", {url: "about:blank"});
  const {sessionId} = await browser.send("Target.attachToTarget", {targetId, flatten: true});
  const send = (method, params) => browser.send(method, params, sessionId);
  const log = [];
  let loaded;
  const whenLoaded = new Promise((resolve) => (loaded = resolve));
  const url = file.startsWith("http:") ? file : "file://" + file;
  browser.listen((message) => {
    if (message.sessionId !== sessionId) return;
    const {method, params} = message;
    if (method === "Page.loadEventFired") loaded();
    if (method === "Runtime.consoleAPICalled") log.push("console: " + JSON.stringify(params.args));
    if (method === "Runtime.exceptionThrown") log.push("exception: " + JSON.stringify(params.exceptionDetails));
    if (method === "Log.entryAdded") log.push("log: " + params.entry.text);
    if (method === "Network.requestWillBeSent" && params.request.url !== url.replace(/#.*/, "") && !/^(data|blob):/.test(params.request.url)) {
      log.push("request: " + params.request.url);
    }
  });
  for (const domain of ["Page", "Runtime", "Log", "Network"]) await send(domain + ".enable");
  await send("Emulation.setDeviceMetricsOverride", {width, height, deviceScaleFactor: 1, mobile: false});
  await send("Emulation.setEmulatedMedia", {features: [{name: "prefers-color-scheme", value: dark ? "dark" : "light"}]});
  if (!script) await send("Emulation.setScriptExecutionDisabled", {value: true});
  if (before !== "") await send("Page.addScriptToEvaluateOnNewDocument", {source: before});
  await send("Page.navigate", {url: url + fragment});
  await whenLoaded;
  // The page's own have had their chance; the test's questions are scripts too.
  if (!script) await send("Emulation.setScriptExecutionDisabled", {value: false});
  const evaluate = async (expression) => {
    const {result, exceptionDetails} = await send("Runtime.evaluate", {expression, returnByValue: true, awaitPromise: true});
    if (exceptionDetails) throw new Error(expression + ": " + JSON.stringify(exceptionDetails.exception));
    return result.value;
  };
  const key = async (name) => {
    const text = name.length === 1 ? name : undefined;
    await send("Input.dispatchKeyEvent", {type: "keyDown", key: name, code: name, text});
    await send("Input.dispatchKeyEvent", {type: "keyUp", key: name, code: name});
  };
  const mouse = (type, x, y, buttons = 0) =>
    send("Input.dispatchMouseEvent", {type, x, y, button: buttons ? "left" : "none", buttons, clickCount: buttons ? 1 : 0});
  // Frames are drawn when the browser likes; two of them are enough for what was asked for.
  const settle = () => evaluate("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(r, 30))))");
  const picture = async (whole = false) => {
    const size = whole ? await evaluate("document.documentElement.scrollHeight") : height;
    const clip = {x: 0, y: 0, width, height: size, scale: 1};
    const {data} = await send("Page.captureScreenshot", {format: "png", captureBeyondViewport: whole, clip: whole ? clip : undefined});
    return Buffer.from(data, "base64");
  };
  return {send, evaluate, key, mouse, settle, picture, log, close: () => browser.send("Target.closeTarget", {targetId})};
}
