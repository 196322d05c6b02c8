/** Every project in examples/ runs with the packed SDK against the real program in capture mode. */
import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import PostalMime from "postal-mime";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { blocksOf, withoutBlocks } from "../../test/harness/pages.ts";
import { type RunningProgram, startProgram } from "../../test/harness/program.ts";
import { shell } from "../../test/harness/shell.ts";
import { until } from "../../test/harness/wait.ts";
import { type CreateWebhookResponse, Posthorn, signTestPayload } from "../src/index.ts";
import { examples, installExamples, type Running, startExample } from "./example-process.ts";
import { sdk } from "./project.ts";

let database: TestDatabase;
let program: RunningProgram;
let posthorn: Posthorn;
let installed: Awaited<ReturnType<typeof installExamples>>;
let env: Record<string, string>;

before(async () => {
  installed = await installExamples();
  database = await createTestDatabase({ example: true });
  program = await startProgram({ databaseUrl: database.url });
  posthorn = new Posthorn({ apiKey: program.key, baseUrl: program.url });
  env = { POSTHORN_KEY: program.key, POSTHORN_URL: program.url };
});

after(async () => {
  await program?.remove();
  await database?.drop();
  await installed?.remove();
});

async function start(
  t: TestContext,
  name: string,
  more: Record<string, string> = {},
  run: { file?: string; args?: string[] } = {},
): Promise<Running> {
  const running = await startExample(join(installed.folder, name), { ...env, ...more }, run);
  t.after(() => running.kill("SIGKILL"));
  return running;
}

async function contentOf(id: string) {
  return await PostalMime.parse((await posthorn.emails.content(id)).raw);
}

const scripts = ["node", "commonjs", "nodemailer", "react-email", "events"];
const servers = ["express", "fastify", "hono", "next"];

test("every example has a README that the overview links to, and declares what it imports", async () => {
  const folders = (await readdir(examples, { withFileTypes: true })).filter((one) => one.isDirectory());
  const names = folders.map(({ name }) => name).sort();
  assert.deepEqual(names, [...scripts, ...servers].sort(), "each example is tested here");
  const overview = await readFile(join(examples, "README.md"), "utf8");
  const sdkManifest = JSON.parse(await readFile(join(sdk, "package.json"), "utf8"));
  const versions: Record<string, string> = { ...sdkManifest.devDependencies, posthorn: sdkManifest.version };
  for (const name of names) {
    assert.ok(overview.includes(`(${name}/README.md)`), name);
    const { dependencies, scripts } = JSON.parse(await readFile(join(examples, name, "package.json"), "utf8"));
    const readme = await readFile(join(examples, name, "README.md"), "utf8");
    const commands = blocksOf(readme).flatMap(({ text }) => [...text.matchAll(/^npm (?:run )?(\w+)/gm)]);
    assert.ok(commands.length > 0, `${name}/README.md says how to start it`);
    for (const [command, script] of commands) assert.ok(script! in scripts, `${name}/README.md: ${command}`);
    for (const line of withoutBlocks(readme).split("\n")) assert.ok(line.length <= 120, `${name}/README.md: ${line}`);
    const files = await readdir(join(examples, name), { recursive: true });
    for (const file of files.filter((one) => /\.[cm]?jsx?$/.test(one) && !one.includes("node_modules"))) {
      const text = await readFile(join(examples, name, file), "utf8");
      for (const [, imported] of text.matchAll(/(?:from |require\()"((?!node:|\.)(?:@[^/"]+\/)?[^/"]+)/g))
        assert.ok(imported! in dependencies, `${name}/${file} imports ${imported}`);
    }
    for (const [dependency, range] of Object.entries(dependencies))
      if (dependency in versions) assert.equal(range, `^${versions[dependency]}`, `${dependency} in ${name}`);
  }
});

test("node: sends an email with an attachment, and names the reason when it does not", async (t) => {
  const sent = await start(t, "node");
  const [, id] = await sent.waitFor(/^(em_\S+) to ada@there\.test: EMAIL_STATUS_SENT \(250 /);
  assert.equal(await sent.ended, 0);
  assert.equal((await contentOf(id!)).attachments[0]?.filename, "receipt.txt");
  const bounced = await start(t, "node", {}, { args: ["bounced@there.test"] });
  await bounced.waitFor(/EMAIL_STATUS_FAILED \(550 5\.1\.1/);
  assert.equal(await bounced.ended, 0);
  const refused = await start(t, "node", { FROM: "shop@nowhere.example" });
  await refused.waitFor(/^Not sent: failed_precondition: .*nowhere\.example/);
  assert.equal(await refused.ended, 1);
});

test("commonjs: sends a batch and prints the result of each email", async (t) => {
  const batch = await start(t, "commonjs");
  const [, id] = await batch.waitFor(
    /^ada@there\.test: accepted as (em_\S+)\nbob@there\.test: accepted as em_\S+\nnot an address: invalid_argument: /,
  );
  assert.equal(await batch.ended, 0);
  assert.equal((await posthorn.emails.get(id!)).subject, "We have moved");
});

test("nodemailer: sends with an attachment and an inline image", async (t) => {
  const sent = await start(t, "nodemailer");
  const [, id, messageId] = await sent.waitFor(/^accepted for ada@there\.test as (em_\S+), Message-ID (<\S+>)/);
  assert.equal(await sent.ended, 0);
  const email = await posthorn.emails.get(id!);
  assert.deepEqual([email.messageId, email.metadata], [messageId, { order: "1042" }]);
  const { attachments } = await contentOf(id!);
  assert.deepEqual(attachments.map(({ mimeType }) => mimeType).sort(), ["image/png", "text/plain"]);
});

test("react-email: sends a component as HTML and text", async (t) => {
  const sent = await start(t, "react-email");
  const [, id] = await sent.waitFor(/^(em_\S+): EMAIL_STATUS_SENT/);
  assert.equal(await sent.ended, 0);
  const { html, text, from, to } = await contentOf(id!);
  assert.match(html!, /<h1>Welcome, Ada &lt;3<\/h1>/);
  assert.match(text!, /Welcome, Ada <3.*confirm your address.*https:\/\/shop\.example\/confirm\?token=1042/is);
  assert.deepEqual([from?.name, to?.[0]?.name], ["Shop", "Ada Lovelace"]);
});

test("events: prints events, and resumes after a restart and after a kill", async (t) => {
  const send = async (to: string) =>
    (await posthorn.emails.send({ from: "shop@example.test", to, subject: "", body: "Hi" })).id;
  const listener = await start(t, "events");
  const first = await send("delivered@there.test");
  await listener.waitFor(new RegExp(`delivered ${first} delivered@there\\.test`));
  listener.kill("SIGTERM");
  assert.equal(await listener.ended, 0);
  assert.match(listener.output(), /Stopped\.\n$/);
  const second = await send("bounced@there.test");
  const again = await start(t, "events");
  await again.waitFor(new RegExp(`bounced ${second} bounced@there\\.test 550`));
  assert.ok(!again.output().includes(first), "an event that was handled does not come again");
  again.kill("SIGKILL");
  await again.ended;
  const third = await send("delivered@there.test");
  await (await start(t, "events")).waitFor(new RegExp(`delivered ${third}`));
});

/** Stands in for Next, which is too large for this checkout: routes requests to the exported functions. */
const nextRunner = `import { serve } from "@hono/node-server";
import * as hooks from "./app/hooks/posthorn/route.js";
import * as orders from "./app/orders/route.js";
const routes = { "/hooks/posthorn": hooks, "/orders": orders };
const fetch = (request) => routes[new URL(request.url).pathname][request.method](request, { params: Promise.resolve({}) });
serve({ fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => console.log("Listening on http://127.0.0.1:" + port));
`;

for (const name of servers) {
  test(`${name}: sends an email once per order, and prints its webhooks`, async (t) => {
    if (name === "next") await writeFile(join(installed.folder, "next/run.mjs"), nextRunner);
    const readme = await readFile(join(examples, name, "README.md"), "utf8");
    const [createWebhook, sendOrder] = blocksOf(readme).map(({ text }) => /^curl (?:.*\\\n)*.*$/m.exec(text)![0]);
    const created = await shell(createWebhook!, { env: { ...process.env, ...env } });
    const { webhook, signingSecret } = JSON.parse(created.stdout) as CreateWebhookResponse;
    t.after(() => posthorn.webhooks.delete(webhook.id));
    const file = name === "next" ? "run.mjs" : undefined;
    const server = await start(t, name, { PORT: "0", POSTHORN_WEBHOOK_SECRET: signingSecret }, { file });
    const [, url] = await server.waitFor(/^Listening on (http:\S+)/);
    await posthorn.webhooks.update(webhook.id, { url: `${url}/hooks/posthorn` });
    // Each order is sent once, also by another example.
    const pasted = await shell(sendOrder!.replace("http://127.0.0.1:3000", url!).replace("1042", `${name}-1042`));
    await server.waitFor(new RegExp(`delivered ${JSON.parse(pasted.stdout).id} ada@there\\.test`));
    const order = async (order: string, email: string) => {
      const headers = { "content-type": "application/json" };
      return await fetch(`${url}/orders`, { method: "POST", headers, body: JSON.stringify({ order, email }) });
    };
    const first = await order(`${name}-1`, "delivered@there.test");
    assert.equal(first.status, 201, server.output());
    const { id, status } = (await first.json()) as { id: string; status: string };
    assert.equal(status, "EMAIL_STATUS_QUEUED");
    await server.waitFor(new RegExp(`delivered ${id} delivered@there\\.test`));
    const repeated = (await (await order(`${name}-1`, "delivered@there.test")).json()) as { id: string };
    assert.equal(repeated.id, id);
    const second = (await (await order(`${name}-2`, "bounced@there.test")).json()) as { id: string };
    await server.waitFor(new RegExp(`bounced ${second.id} bounced@there\\.test 550`));
    const invalid = await order(`${name}-3`, "not an address");
    assert.deepEqual([invalid.status, Object.keys((await invalid.json()) as object)], [400, ["error"]]);

    const forged = await signTestPayload(
      '{"id":"evt_1","type":"email.delivered"}',
      `whsec_${btoa("another secret, not the right one")}`,
    );
    assert.equal((await fetch(`${url}/hooks/posthorn`, { method: "POST", ...forged })).status, 401);
    // The server prints before it responds.
    await until("the deliveries to be recorded", async () => {
      const { data } = await posthorn.webhooks.deliveries(webhook.id);
      return data.length >= 3 && data.every(({ responseStatus }) => responseStatus === 204);
    });
  });
}
