/** Runs the code in the docs that no other test runs, against one real program: pastes shell blocks, type-checks and runs programs. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { addPasskey } from "../harness/authenticator.ts";
import { needs } from "../harness/foreign.ts";
import { freePort } from "../harness/free-port.ts";
import { blocksOf, root } from "../harness/pages.ts";
import { openBrowser, password, tokenIn } from "../harness/people.ts";
import { newDataDir, type RunningProgram, startProgram, testSecret } from "../harness/program.ts";
import { python } from "../harness/python.ts";
import { type Received, type Receiver, startReceiver } from "../harness/receiver.ts";
import { shell } from "../harness/shell.ts";
import { until } from "../harness/wait.ts";

const run = promisify(execFile);
let program: RunningProgram;
let receiver: Receiver;
/** The working directory of the shell, where blocks write their files. */
let folder: string;
before(async () => {
  folder = await newDataDir();
  receiver = await startReceiver();
  program = await startProgram();
});
after(async () => {
  await program?.remove();
  await receiver?.close();
  await rm(folder, { recursive: true, force: true });
});

/** The blocks of a page in one language. The test states their number, so that it fails when a new one is added. */
async function blocks(page: string, language: string, count: number): Promise<string[]> {
  const found = blocksOf(await readFile(join(root, page), "utf8")).filter((block) => block.language === language);
  assert.equal(found.length, count, `the number of ${language} blocks in ${page} has changed: run each of them here`);
  return found.map(({ text }) => text);
}

/** Pastes a block with the ports of this program. Replaces npx, which is slow; test/docs/readme-tour.test.ts uses the real one. */
async function paste(block: string): Promise<string> {
  const npx = `npx() { shift; "${process.execPath}" "${join(root, "bin/posthorn.js")}" "$@"; }\n`;
  const script = block
    .replaceAll("http://127.0.0.1:8825", program.url)
    .replaceAll("127.0.0.1:2525", `127.0.0.1:${program.ports.smtp}`);
  const env = { ...process.env, ...settings(), POSTHORN_KEY: program.key };
  const { stdout } = await shell(npx + script, { cwd: folder, env });
  return stdout;
}

function settings(): Record<string, string> {
  const any = "127.0.0.1:0";
  const ports = {
    POSTHORN_HTTP: any,
    POSTHORN_SMTP: any,
    POSTHORN_SUBMISSION: any,
    POSTHORN_SUBMISSIONS: any,
    POSTHORN_DNS: any,
    POSTHORN_OPS: any,
  };
  const config = join(folder, "config");
  return { XDG_CONFIG_HOME: config, POSTHORN_DATA_DIR: program.dataDir, POSTHORN_SECRET: testSecret, ...ports };
}

test("docs/webhooks.md: the curl command creates a webhook and prints its secret", async () => {
  const [create] = await blocks("docs/webhooks.md", "sh", 1);
  const { webhook, signingSecret } = JSON.parse(await paste(create!));
  assert.match(signingSecret, /^whsec_/);
  assert.deepEqual(webhook.eventTypes, ["email.bounced", "email.replied"]);
  await program.call("WebhookService/DeleteWebhook", { id: webhook.id });
});

/** One real delivery, shared by all tests that verify signatures. */
let taken: Promise<{ request: Received; secret: string }> | undefined;
const delivery = () => {
  taken ??= (async () => {
    const url = `${receiver.url}/hook`;
    const created = await program.call("WebhookService/CreateWebhook", { url, eventTypes: ["email.delivered"] });
    const email = {
      from: "shop@example.test",
      to: ["anna@example.com"],
      subject: "",
      body: "Hi",
      metadata: { order: "4711" },
    };
    await program.call("EmailService/SendEmail", email);
    await receiver.until("the event", ({ requests }) => requests.length === 1);
    return { request: receiver.requests[0]!, secret: created.body.signingSecret as string };
  })();
  return taken;
};

test("docs/webhooks.md: a delivered event has the structure of the example", async () => {
  const [shown] = await blocks("docs/webhooks.md", "json", 1);
  const example = JSON.parse(shown!.replaceAll(/, …/g, ""));
  const { request } = await delivery();
  const shapeOf = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shapeOf);
    if (typeof value !== "object" || value === null) return typeof value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]));
  };
  const { delivered, ...envelope } = shapeOf(request.event) as Record<string, object>;
  const { delivered: shownDelivered, ...shownEnvelope } = shapeOf(example) as Record<string, object>;
  assert.deepEqual(shownEnvelope, envelope);
  assert.deepEqual({ ...delivered, ...shownDelivered }, delivered);
});

test("docs/webhooks.md: the TypeScript examples compile and accept a real delivery", async (t) => {
  const [library, server] = (await blocks("docs/webhooks.md", "ts", 2)) as [string, string];
  const { request, secret } = await delivery();
  await mkdir(join(root, "test/output"), { recursive: true });
  // Inside the checkout, so that the packages resolve by their names.
  const directory = await mkdtemp(join(root, "test/output/webhook-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const given = "declare const rawBody: string; declare const headers: Record<string, string>;\n";
  await writeFile(join(directory, "library.ts"), `${given}${library}\nprocess.stdout.write(JSON.stringify(event));`);
  await writeFile(
    join(directory, "svix.ts"),
    `${given}${library.replace("standardwebhooks", "svix")}\nexport { event };`,
  );
  await writeFile(join(directory, "server.ts"), server);
  // skipLibCheck: only the page's programs are checked, not the types of Node and the libraries.
  const compilerOptions = {
    module: "nodenext",
    target: "es2022",
    strict: true,
    noEmit: true,
    types: ["node"],
    skipLibCheck: true,
  };
  await writeFile(join(directory, "tsconfig.json"), JSON.stringify({ compilerOptions }));
  const compiled = await run(join(root, "node_modules/.bin/tsc"), ["-p", directory]).catch(
    (error: { stdout: string }) => error,
  );
  assert.equal(compiled.stdout, "");

  const env = { ...process.env, POSTHORN_WEBHOOK_SECRET: secret };
  const values = `globalThis.rawBody = ${JSON.stringify(request.body)}; globalThis.headers = ${JSON.stringify(request.headers)};`;
  await writeFile(join(directory, "given.mjs"), values);
  const { stdout } = await run(process.execPath, ["--import", "./given.mjs", "library.ts"], { cwd: directory, env });
  assert.deepEqual(JSON.parse(stdout), request.event);

  const port = await freePort();
  const child = spawn(process.execPath, ["server.ts"], { cwd: directory, env: { ...env, PORT: String(port) } });
  t.after(() => child.kill("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  const post = (body: string) =>
    fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers: relevantHeaders(request.headers), body });
  const answer = await until("the server", () => post(request.body).catch(() => undefined));
  assert.equal(answer.status, 204, await answer.text());
  assert.equal((await post(`${request.body} `)).status, 401);
  await until("the server's output", () => output === `delivered ${request.event.emailId}\n`);
});

test("docs/webhooks.md: the Python example accepts a real delivery and rejects forged and old ones", {
  skip: needs("python3"),
}, async () => {
  const [check] = await blocks("docs/webhooks.md", "python", 1);
  const { request, secret } = await delivery();
  const script = `${check}
import sys
given = json.load(sys.stdin)
os.environ["POSTHORN_WEBHOOK_SECRET"] = given["secret"]
try:
    print(json.dumps(verify(given["body"].encode(), given["headers"])))
except ValueError as error:
    print(json.dumps(str(error)))
`;
  const verify = (extra: object) => {
    const { body, headers } = request;
    return python(script, Buffer.from(JSON.stringify({ body, headers, secret, ...extra })));
  };
  assert.deepEqual(await verify({}), request.event);
  assert.equal(await verify({ body: `${request.body} ` }), "not from Posthorn");
  assert.equal(await verify({ secret: `whsec_${Buffer.alloc(32).toString("base64")}` }), "not from Posthorn");
  assert.equal(await verify({ headers: { ...request.headers, "webhook-timestamp": "1700000000" } }), "too old");
});

test("docs/inbound.md: suppressions are imported, and a reply to an email becomes an event", async () => {
  const [suppress, reply] = await blocks("docs/inbound.md", "sh", 2);
  assert.deepEqual(JSON.parse(await paste(suppress!)).added, 1);
  assert.match(await paste(reply!), /email\.replied .*\n$/);
});

test("docs/people.md: a person is invited, joins with the link, and resets the password with another link", async () => {
  const [firstLink, invite, reset, factors, operator] = await blocks("docs/people.md", "sh", 5);
  const first = await openBrowser(program).post("/auth/link", { token: tokenIn(await paste(firstLink!)) });
  assert.deepEqual(first.body, { kind: "first" });
  const token = tokenIn(await paste(invite!));
  const joined = await openBrowser(program).post("/auth/sign-up", { token, name: "Ann", password });
  assert.equal(joined.status, 200, JSON.stringify(joined.body));
  const output = await paste(reset!);
  assert.match(output, /ann@example\.com +Ann +active +\S+ +default/);
  const newPassword = `${password} anew`;
  const answer = await openBrowser(program).post("/auth/reset-password", { token: tokenIn(output), newPassword });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.match(await paste(factors!), /ann@example\.com had no second factor[\s\S]* none\n/);
  const ann = openBrowser(program);
  assert.equal((await ann.post("/auth/sign-in", { email: "ann@example.com", password: newPassword })).status, 200);
  await addPasskey(ann, program);
  assert.match(await paste(operator!), /ann@example\.com is now an operator\./);
});

test("docs/audit.md: the changes of a workspace are shown, and those of the whole service exported", async () => {
  const [audit] = await blocks("docs/audit.md", "sh", 1);
  const created = await program.call("KeyService/CreateKey", { name: "Audited", permission: "KEY_PERMISSION_READ" });
  assert.equal(created.status, 200);
  const { key } = created.body as { key: { id: string } };
  assert.match(await paste(audit!), new RegExp(`127\\.0\\.0\\.1 +key\\.created +${key.id}`));
  const lines = (await readFile(join(folder, "audit.jsonl"), "utf8")).trim().split("\n");
  assert.ok(lines.map((line) => JSON.parse(line)).some(({ targetId }) => targetId === key.id));
});

test("docs/delivery.md: the queue is listed, retried, paused, resumed and purged", async () => {
  const [queue] = await blocks("docs/delivery.md", "sh", 1);
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const later = { from: "shop@example.test", to: ["anna@example.com"], subject: "", body: "Hi", scheduledAt };
  assert.equal((await program.call("EmailService/SendEmail", later)).status, 200);
  const output = (await paste(queue!)).trim().split("\n");
  // The list has a header line; each of the other commands prints one sentence.
  assert.equal(output.length, queue!.trim().split("\n").length + 1, output.join("\n"));
  assert.match(output[1]!, /^example\.com /);
});

test("docs/command-line.md: a profile is used, and lists are exported and imported", async () => {
  const [profiles, files] = (await blocks("docs/command-line.md", "sh", 2)) as [string, string];
  const shown = await paste(profiles);
  assert.match(shown, /^Profile production stored in /);
  assert.match(shown, /^production +http:\S+ +ph_\w+… +yes$/m);
  assert.match(shown, /Profile production removed\. If the key/);
  // Replaces the reader's domain by one that is registered here.
  assert.match(
    await paste(files.replaceAll("example.com", "example.test")),
    /^0 added, \d+ already on the list, 0 invalid\.$/m,
  );
  assert.match(await readFile(join(folder, "emails.csv"), "utf8"), /^id,/);
});

test("docs/domains.md: a DKIM key is imported and exported", async () => {
  const [importKey, exportKey] = (await blocks("docs/domains.md", "sh", 2)).map((block) =>
    block.replace("example.com", "example.test"),
  );
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  await writeFile(join(folder, "key.pem"), privateKey.export({ type: "pkcs8", format: "pem" }));
  assert.match(await paste(importKey!), /s1\._domainkey/);
  await paste(exportKey!);
  assert.match(await readFile(join(folder, "ph1.pem"), "utf8"), /^-----BEGIN PRIVATE KEY-----/);
});

test("docs/operate.md: a first email is sent, a workspace is exported and deleted, and a backup is restored", async () => {
  const [, send, remove, backup] = (await blocks("docs/operate.md", "sh", 5)) as [string, string, string, string];
  // Replaces the reader's domain, and removes --follow, which runs until Ctrl-C (test/app/command-line.test.ts).
  const script = send.replace("you@example.com", "you@example.test").replace(" --follow", "");
  const output = await paste(script);
  // A busy machine responds before the first attempt is finished.
  assert.match(output, /^em_\S+ {2}(SENT|PROCESSING|QUEUED) /);
  const events = script.trim().split("\n").at(-1)!;
  const isDelivered = async () => /email\.delivered .*you@example\.net/.test(await paste(events));
  await until("the event on the page", isDelivered);
  await paste("npx posthorn workspaces create Acme");
  assert.match(await paste(remove), /Acme is exported to [\s\S]*Acme is deleted\./);
  assert.ok((await readdir(join(folder, "acme"))).includes("manifest.json"));
  await paste(backup);
  // test/app/backup.test.ts checks the contents of a restored backup; data-copy.test.ts runs the fourth block.
  for (const created of ["backups/today", "data-restored"])
    assert.ok((await readdir(join(folder, created))).includes("first-key"), created);
});

function relevantHeaders(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => /^webhook-|^content-type$/.test(name)));
}
