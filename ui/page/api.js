// Requests to the console. All answers are those of the daemon's operations.

const storage = "memwatchd-session";
let session = sessionStorage.getItem(storage);

export let readOnly = sessionStorage.getItem(storage + "-read-only") === "true";

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
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${session}` },
    body: JSON.stringify(body),
    signal,
  });
  if (!response.ok) {
    const failure = await response.json().catch(() => ({}));
    throw new Failure(response.status, failure.error ?? { code: "internal", message: `status ${response.status}` });
  }
  return response;
}

/** openSession exchanges the key in the address, if there is one. */
export async function openSession() {
  const key = new URLSearchParams(location.hash.slice(1)).get("k");
  if (key) {
    history.replaceState(null, "", "/");
    const answer = await (await post("/session", { key })).json();
    session = answer.session;
    readOnly = answer.read_only;
    sessionStorage.setItem(storage, session);
    sessionStorage.setItem(storage + "-read-only", readOnly);
  }
  return session !== null;
}

/** call executes an operation and returns its answer. It shows why the answer may be incomplete. */
export async function call(operation, fields = {}, signal) {
  const answer = await (await post(`/v1/${operation}`, fields, signal)).json();
  if (answer.index?.synced !== undefined) document.getElementById("index").textContent = answer.index.notice ?? "";
  return answer;
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
