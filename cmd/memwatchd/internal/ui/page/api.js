// Requests to the console. All answers are those of the daemon's operations.

const storage = "memwatchd-session";
const tabs = new BroadcastChannel(storage); // other tabs with this page
let session = JSON.parse(sessionStorage.getItem(storage)); // the key, and what the console permits

export let readOnly = session?.read_only ?? false;

/** A Failure is the error of an operation. Its message is for people. */
export class Failure extends Error {
  constructor(status, error) {
    super(error.hint ? `${error.message} (${error.hint})` : error.message);
    this.status = status;
    this.code = error.code;
  }
}

async function post(path, body, signal) {
  const response = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${session?.session}` },
    body: JSON.stringify(body),
    signal,
  });
  if (!response.ok) {
    const failure = await response.json().catch(() => ({}));
    throw new Failure(response.status, failure.error ?? { code: "internal", message: `status ${response.status}` });
  }
  return response;
}

function take(answer) {
  session = answer;
  readOnly = answer.read_only;
  sessionStorage.setItem(storage, JSON.stringify(answer));
}

/** openSession exchanges the key in the address. Without one it requests the session of another tab. There, ask is
 * called with a function that grants it: an old page of another program that used this port could request it too. */
export async function openSession(ask) {
  const key = new URLSearchParams(location.hash.slice(1)).get("k");
  if (key) {
    history.replaceState(null, "", "/");
    take(await (await post("/session", { key })).json());
  }
  if (!session) {
    await new Promise((resolve) => {
      tabs.onmessage = ({ data }) => {
        if (!data.session) return;
        take(data);
        resolve();
      };
      tabs.postMessage("request");
    });
  }
  tabs.onmessage = ({ data }) => { if (data === "request" && session) ask(() => tabs.postMessage(session)); };
}

/** endSession forgets a session that the console does not know. */
export function endSession() {
  session = null;
  sessionStorage.removeItem(storage);
}

/** call executes an operation and returns its answer. It shows why the answer may be incomplete. */
export async function call(operation, fields = {}, signal) {
  const answer = await (await post(`/v1/${operation}`, fields, signal)).json();
  if (answer.index?.synced !== undefined) document.getElementById("index").textContent = answer.index.notice ?? "";
  return answer;
}

/** editorLink returns the address that opens a place in the editor, if the console knows one. */
export function editorLink(hit) {
  const parts = `${session?.root}/${hit.path}`.split("/").map(encodeURIComponent).join("/");
  return session?.editor?.replace("{path}", () => parts).replace("{line}", hit.line || 1);
}

/** listen calls f for each event of the daemon until the connection ends. */
export async function listen(f) {
  const response = await post("/v1/events", {});
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line) f(JSON.parse(line));
  }
}
