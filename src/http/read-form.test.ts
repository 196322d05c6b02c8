import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { after, before, test } from "node:test";
import { type FormRead, readForm } from "./read-form.ts";

let server: Server;
let port: number;
before(async () => {
  server = createServer(async (request, response) => {
    const read = await readForm(request, response, 300);
    response.statusCode = read.ok ? 200 : read.status;
    response.end(JSON.stringify(read.ok ? [...read.fields] : read.reason));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  port = (server.address() as AddressInfo).port;
});
after(() => server.close());

type Shown = { status: number; body: unknown };

async function post(body: string | FormData, type?: string): Promise<Shown> {
  const headers = type === undefined ? undefined : { "content-type": type };
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body, headers });
  return { status: response.status, body: await response.json() };
}

const urlencoded = "application/x-www-form-urlencoded";

test("both types of forms are read", async () => {
  const form = new FormData();
  form.set("a", "1 ü");
  form.set("b", "");
  const fields = [
    ["a", "1 ü"],
    ["b", ""],
  ];
  assert.deepEqual(await post("a=1+%C3%BC&b=", `${urlencoded}; charset=utf-8`), { status: 200, body: fields });
  // RFC 9110 §5.6.6: white space before the semicolon is allowed.
  assert.deepEqual(await post("a=1+%C3%BC&b=", `${urlencoded} ; charset=utf-8`), { status: 200, body: fields });
  assert.deepEqual(await post(form), { status: 200, body: fields });
});

test("a file in a form is not a field", async () => {
  const form = new FormData();
  form.set("a", new Blob(["x"]), "a.txt");
  assert.deepEqual(await post(form), { status: 200, body: [] });
});

test("other types, repeated fields, broken and large bodies are refused", async () => {
  const cases: [body: string, type: string, status: number][] = [
    ["a=1", "text/plain", 415],
    ["a=1", "application/x-www-form-urlencodedx", 415],
    ["a=1&a=2", urlencoded, 400],
    ["nonsense", "multipart/form-data; boundary=x", 400],
    ["nonsense", "multipart/form-data", 400],
    [`a=${"x".repeat(16 * 1024)}`, urlencoded, 413],
  ];
  for (const [body, type, status] of cases) assert.equal((await post(body, type)).status, status, type);
});

test("a compressed body is refused with the reason", async () => {
  const headers = { "content-type": urlencoded, "content-encoding": "gzip" };
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: "a=1", headers });
  assert.deepEqual([response.status, await response.json()], [415, "Send the body without Content-Encoding."]);
});

test("a body that does not arrive in time is given up, and its connection closed", async () => {
  const socket = connect(port, "127.0.0.1");
  socket.write(
    `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: ${urlencoded}\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n`,
  );
  let answer = "";
  for await (const chunk of socket) answer += chunk;
  assert.match(answer, /^HTTP\/1\.1 408 /);
  assert.match(answer, /\r\nconnection: close\r\n/i);
});

test("a request that is cut off ends the wait", async () => {
  const read = Promise.withResolvers<FormRead>();
  const cut = createServer(async (request, response) => read.resolve(await readForm(request, response)));
  await once(cut.listen(0, "127.0.0.1"), "listening");
  const socket = connect((cut.address() as AddressInfo).port, "127.0.0.1");
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Type: ${urlencoded}\r\nContent-Length: 9\r\n\r\na=`, () =>
    socket.destroy(),
  );
  assert.equal((await read.promise).ok, false);
  cut.close();
});
