/** Compares the replacement for curl with the real one: each curl command in the docs makes the same request with both. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { SMTPServer } from "smtp-server";
import { readCommand, requestOf } from "./curl.ts";
import { needs } from "./foreign.ts";
import { blocksOf, pages } from "./pages.ts";
import { shell, withCurl } from "./shell.ts";
import { commandsIn } from "./transcripts.ts";

/** The requests and messages that the servers received, in order. */
let seen: string[] = [];
let folder: string;
let env: NodeJS.ProcessEnv;

const http = createServer(async (request, response) => {
  const headers = Object.entries(request.headers).filter(([name]) => name !== "user-agent");
  const body = (await buffer(request)).toString("latin1");
  seen.push(JSON.stringify({ method: request.method, url: request.url, headers: headers.sort(), body }, null, 1));
  response.writeHead(request.url === "/refused" ? 418 : 200).end('{"answer": "✓"}\n');
});
const smtp = new SMTPServer({
  authOptional: true,
  disabledCommands: ["STARTTLS", "AUTH"],
  async onData(stream, { envelope }, done) {
    const { mailFrom, rcptTo } = envelope;
    const message = (await buffer(stream)).toString("latin1");
    seen.push(JSON.stringify([mailFrom ? mailFrom.address : "", rcptTo.map(({ address }) => address), message]));
    done();
  },
});
// A client may reset its connection when it is done.
smtp.on("error", () => {});

before(async () => {
  http.listen(0, "127.0.0.1");
  smtp.listen(0, "127.0.0.1");
  await Promise.all([once(http, "listening"), once(smtp.server, "listening")]);
  folder = await mkdtemp(join(tmpdir(), "posthorn-curl-test-"));
  await mkdir(join(folder, "data"));
  await writeFile(join(folder, "data/first-key"), "ph_key\n");
  const secrets = { KEY: "ph_key", POSTHORN_KEY: "ph_key", POSTHORN_API_KEY: "ph_key" };
  env = { ...process.env, ...secrets, API: httpUrl() };
});
after(async () => {
  http.close();
  smtp.close(() => {});
  await rm(folder, { recursive: true, force: true });
});

const httpUrl = () => `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
const smtpAddress = () => `127.0.0.1:${(smtp.server.address() as AddressInfo).port}`;

/** Runs the commands with the real curl or the replacement; returns the requests that arrived and the printed output. */
async function runWith(replacement: boolean, script: string): Promise<{ requests: string[]; stdout: string }> {
  seen = [];
  const here = script.replaceAll("http://127.0.0.1:8825", httpUrl()).replaceAll("127.0.0.1:2525", smtpAddress());
  // Commands other than curl are stubs; npx prints the id of an email.
  const stubs = "npx() { echo em_0; }; npm() { :; }\n";
  const { stdout } = await shell(`${stubs}${here}`, { cwd: folder, env: withCurl(env, replacement) });
  return { requests: seen, stdout };
}

/** The shell blocks of a page that call curl, in one script, because a function of one block is used in the next. */
function scriptOf(text: string): string {
  return (
    blocksOf(text)
      .flatMap(({ language, text: block }) => {
        if (language === "sh") return [block];
        return language === "console" ? commandsIn(block).map((command) => command.slice(2)) : [];
      })
      .filter((block) => /\bcurl -|^call /m.test(block))
      // The replacement knows no TLS. test/submission/clients.test.ts runs these with the real curl.
      .filter((block) => !block.includes("--ssl-reqd"))
      .join("\n")
  );
}

for (const { path, text } of pages()) {
  const script = scriptOf(text);
  if (script === "") continue;
  test(`the curl commands of ${path} make the same requests with both programs`, { skip: needs("curl") }, async () => {
    const real = await runWith(false, script);
    assert.ok(real.requests.length > 0);
    assert.deepEqual(await runWith(true, script), real);
  });
}

const more = {
  "a body in parts and an additional header": `curl -s -XPUT $API/x?y=1 -H 'X-Name:  two words ' -d a=1 -d 'b=2'`,
  "no body": "curl -sS $API/plain",
  "a body from standard input": `printf 'a\\r\\nb\\n' | curl -s $API/x -d @-; printf 'a\\r\\nb\\n' | curl -s $API/x --data-binary @-`,
  "a here-document": 'curl -s $API/x -H \'Content-Type: application/json\' -d @- <<END\n{"a": "it\'s $KEY"}\nEND',
  "an error response": `curl -s $API/refused -w '\\nHTTP %{http_code}\\n'; curl -sf $API/refused || echo "$?"`,
  "no server": "curl -s http://127.0.0.1:1/ || echo $?",
};

for (const [name, script] of Object.entries(more)) {
  test(`both programs make the same request with ${name}`, { skip: needs("curl") }, async () => {
    assert.deepEqual(await runWith(true, script), await runWith(false, script));
  });
}

test("the replacement makes the request that its arguments describe, also on machines without curl", async () => {
  const script =
    'curl -sSN "$API/v1.A/B" -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d \'{"a": 1}\'';
  const { requests, stdout } = await runWith(true, script);
  assert.equal(stdout, '{"answer": "✓"}\n');
  const { method, url, headers, body } = JSON.parse(requests[0]!);
  assert.deepEqual([method, url, body], ["POST", "/v1.A/B", '{"a": 1}']);
  assert.equal(Object.fromEntries(headers).authorization, "Bearer ph_key");
  assert.equal(Object.fromEntries(headers)["content-type"], "application/json");
});

test("the replacement rejects options that it does not know", () => {
  assert.throws(() => readCommand(["--compressed", "http://x"]), /--compressed/);
  assert.throws(() => readCommand(["-s", "-k", "http://x"]), /-k/);
  assert.throws(() => readCommand(["-s"]), /no URL/);
  assert.throws(() => readCommand(["http://x", "-d"]), /requires parameter/);
  assert.throws(() => readCommand(["http://x", "http://y"]), /second address/);
});

test("-d sends a form with POST unless a method or a content type is given", () => {
  const { method, headers, body } = requestOf(readCommand(["http://x", "-d", "a=1"]), Buffer.alloc(0));
  assert.deepEqual(
    [method, headers.get("content-type"), String(body)],
    ["POST", "application/x-www-form-urlencoded", "a=1"],
  );
});
