/** deploy/Caddyfile with a real Caddy in front of two real nodes: TLS, HTTP/2, unbuffered streams, no metrics, a stopped node. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { type ClientHttp2Session, connect } from "node:http2";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { test } from "node:test";
import { createTestDatabase } from "../harness/database.ts";
import { needs, pathOf } from "../harness/foreign.ts";
import { freePort } from "../harness/free-port.ts";
import { root } from "../harness/pages.ts";
import { startPeer } from "../harness/peer.ts";
import { startProgram } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

const key = "the-key-of-the-proxy-test-0123456789";

test("the proxy in front of several nodes", { skip: needs("caddy") }, async (t) => {
  const database = await createTestDatabase();
  t.after(database.drop);
  const env = { POSTHORN_API_KEY: key, POSTHORN_ROLES: "api", POSTHORN_STREAM_HEARTBEAT_MS: "200" };
  const trusted = { POSTHORN_TRUSTED_PROXIES: "127.0.0.1/32", POSTHORN_PUBLIC_URL: "https://localhost" };
  const start = () => startProgram({ databaseUrl: database.url, env: { ...env, ...trusted } });
  const [a, b] = [await start(), await start()];
  t.after(a.remove);
  t.after(b.remove);
  const [httpPort, httpsPort] = [await freePort(), await freePort()];
  // There is no certificate authority on this machine, so Caddy issues its own certificate.
  const config = readFileSync(join(root, "deploy/Caddyfile"), "utf8")
    .replace("admin off", "admin off\n\tlocal_certs\n\tskip_install_trust")
    .replace("http_port 8080", `http_port ${httpPort}`)
    .replace("https_port 8443", `https_port ${httpsPort}`)
    .replace("node-a:8825", `127.0.0.1:${a.ports.http}`)
    .replace("node-b:8825", `127.0.0.1:${b.ports.http}`)
    .replace("{$DOMAIN}", "localhost");
  const agent = new Agent({ rejectUnauthorized: false, keepAlive: false });
  const base = { host: "localhost", port: httpsPort, agent, servername: "localhost" };
  const caddy = await startPeer({
    name: "sh",
    prefix: "posthorn-caddy-",
    async args(directory) {
      await mkdir(join(directory, "home"));
      await writeFile(join(directory, "Caddyfile"), config);
      const home = join(directory, "home");
      return [
        "-c",
        `HOME=${home} XDG_DATA_HOME=${home} exec ${pathOf("caddy")} run --config ${join(directory, "Caddyfile")}`,
      ];
    },
    ready: async () => (await send("GET", "/readyz")).status === 200,
  });
  t.after(caddy.stop);

  function send(method: string, path: string, body = ""): Promise<{ status: number; body: string }> {
    return new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "connect-protocol-version": "1",
      };
      const sent = request({ ...base, method, path, headers }, (answer) => {
        let text = "";
        answer.on("data", (chunk) => (text += chunk));
        answer.on("end", () => resolve({ status: answer.statusCode!, body: text }));
      });
      sent.on("error", reject);
      sent.end(body);
    });
  }

  await t.test("forwards calls but no metrics", async () => {
    assert.equal((await send("POST", "/v1.KeyService/ListKeys", "{}")).status, 200);
    assert.deepEqual(await send("GET", "/readyz"), { status: 200, body: '{"ready":true}\n' });
    for (const path of ["/metrics", "/metrics?x", "//metrics", "/x/../metrics", "/%6detrics"])
      assert.doesNotMatch((await send("GET", path)).body, /posthorn_/, path);
    assert.equal((await send("GET", "/metrics")).status, 404);
  });

  await t.test("forwards a large body", async () => {
    const { status, body } = await send(
      "POST",
      "/v1.EmailService/SendEmail",
      JSON.stringify({ body: "x".repeat(8e6) }),
    );
    assert.equal(status, 400, body.slice(0, 200));
    assert.match(body, /invalid_argument/);
  });

  await t.test("forwards the messages of an open stream at once over HTTP/2", async (t) => {
    const session = connect(`https://localhost:${httpsPort}`, { rejectUnauthorized: false });
    t.after(() => session.destroy());
    await once(session, "connect");
    const stream = streamOf(session);
    await until("three messages of an open stream", async () => stream.lines() >= 3 && !stream.ended());
  });

  await t.test("sends no calls to a stopped node", async () => {
    assert.equal(await a.stop(), 0);
    for (let i = 0; i < 10; i++) assert.equal((await send("POST", "/v1.KeyService/ListKeys", "{}")).status, 200);
  });
});

function streamOf(session: ClientHttp2Session): { lines(): number; ended(): boolean } {
  const stream = session.request({
    ":method": "POST",
    ":path": "/v1.EmailService/StreamEvents",
    authorization: `Bearer ${key}`,
    accept: "application/x-ndjson",
    "content-type": "application/json",
    "connect-protocol-version": "1",
  });
  let text = "";
  let ended = false;
  stream.on("data", (chunk) => (text += chunk));
  stream.on("end", () => (ended = true));
  stream.on("error", () => (ended = true));
  stream.end("{}");
  return { lines: () => text.split("\n").length - 1, ended: () => ended };
}
