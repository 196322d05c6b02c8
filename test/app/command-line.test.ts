/** posthorn send, events and doctor, on a running and on a stopped instance, through the store and through the API. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { cutLogs } from "../../src/postgres/log-origin.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { startScriptedDns } from "../harness/dns.ts";
import { type RunningProgram, runCommand, startProgram, testSecret } from "../harness/program.ts";
import { startSink } from "../harness/sink.ts";
import { until } from "../harness/wait.ts";

const bin = fileURLToPath(new URL("../../bin/posthorn.js", import.meta.url));
let database: TestDatabase;
let program: RunningProgram;
before(async () => {
  database = await createTestDatabase({ example: true });
  program = await startProgram({ databaseUrl: database.url });
});
after(async () => {
  await program?.remove();
  await database?.drop();
});

const posthorn = (args: string[], env: Record<string, string> = {}) =>
  runCommand(args, { dataDir: program.dataDir, databaseUrl: database.url, env });
/** As from another machine: only the URL and a key are known. */
const viaApi = () => ({ POSTHORN_URL: program.url, POSTHORN_KEY: program.key });
const viaStore = () => ({
  POSTHORN_DATA_DIR: program.dataDir,
  DATABASE_URL: database.url,
  POSTHORN_SECRET: testSecret,
});
const sendArgs = ["send", "--from", "Shop <orders@example.test>", "--subject", "Hello"];

test("send accepts flags, files and several recipients, waits, and prints the id and status", async () => {
  const file = join(program.dataDir, "bill.pdf");
  await writeFile(file, "%PDF-1.7");
  const flags = ["--body", "Thank you.", "--cc", "grace@example.test", "--attach", file];
  const more = ["--metadata", "order=1042", "--header", "X-Shop: brass", "--json"];
  const { code, stdout, stderr } = await posthorn([...sendArgs, ...flags, ...more, "ada@example.test"]);
  assert.deepEqual([code, stderr], [0, ""]);
  const { id, status } = JSON.parse(stdout);
  assert.equal(status, "EMAIL_STATUS_SENT");
  const { email } = (await program.call("EmailService/GetEmail", { id })).body as {
    email: { cc: string[]; metadata: object; attachments: object[] };
  };
  assert.deepEqual([email.cc, email.metadata], [["grace@example.test"], { order: "1042" }]);
  assert.deepEqual(email.attachments, [
    { filename: "bill.pdf", contentType: "application/pdf", sizeBytes: 8, contentId: "" },
  ]);
});

test("without --body the text is read from standard input, here through another Posthorn's API", async () => {
  const env = { ...process.env, ...viaApi() };
  const child = spawn(process.execPath, [bin, ...sendArgs, "--json", "ada@example.test"], { env });
  child.stdin.end("From a pipe.\n");
  const { id } = JSON.parse(await outputOf(child)) as { id: string };
  const { body } = await program.call("EmailService/GetEmailContent", { id });
  assert.equal(body.body, "From a pipe.\n");
});

test("an email that every receiver rejects gives exit code 1, and mistakes are explained", async () => {
  const refused = await posthorn([...sendArgs, "--body", "x", "bounced@example.test"]);
  assert.equal(refused.code, 1);
  assert.match(refused.stdout, /^em_\S+ {2}FAILED {2}550 5\.1\.1/);
  const unknown = await posthorn(["send", "--from", "a@nowhere.test", "--body", "x", "b@example.test"]);
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /^nowhere\.test is not a domain of this workspace/);
  for (const args of [["send"], [...sendArgs], [...sendArgs, "--at", "soon", "--body", "", "a@b.test"]])
    assert.equal((await posthorn(args)).code, 2, args.join(" "));
});

test("events prints the log from a cursor and by type, as text and as JSON", async () => {
  const all = await posthorn(["events", "--json"]);
  assert.deepEqual([all.code, all.stderr], [0, ""]);
  const log = lines(all.stdout);
  assert.deepEqual(
    log.map(({ cursor }) => cursor),
    log.map((_, i) => String(i + 1)),
  );
  const some = await posthorn(["events", "--json", "--cursor", "1", "--types", "email.bounced"], viaApi());
  assert.deepEqual(
    lines(some.stdout),
    log.filter(({ event }) => event.type === "email.bounced"),
  );
  const shown = await posthorn(["events"]);
  assert.equal(shown.stdout.trimEnd().split("\n").length, log.length);
  assert.match(shown.stdout, /email\.delivered .*ada@example\.test {2}em_.* 250 2\.0\.0/);
  assert.ok(!shown.stdout.includes("\u001b"), "colors outside a terminal");
  const wrong = await posthorn(["events", "--cursor", "x"], viaApi());
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /^invalid_argument: .*cursor/);
});

test("events --follow prints later events, through the store and the API, and exits with 0 on Ctrl-C", async () => {
  for (const access of [viaStore(), viaApi()]) {
    const args = ["events", "--follow", "--json", "--cursor", "latest", "--types", "email.delivered"];
    const { child, ended, output, errors } = follow(args, access);
    // The command follows from the moment it connects, so emails are sent until it prints some. They span more time than the interval
    // at which the server checks the keys of open streams.
    await until("events of several seconds", async () => {
      assert.equal(child.exitCode, null, errors());
      const email = { from: "a@example.test", to: ["b@example.test"], subject: "", body: "Hi" };
      await program.call("EmailService/SendEmail", email);
      const times = lines(output()).map(({ event }) => Date.parse(event.createdAt));
      return times.length > 0 && times.at(-1)! - times[0]! > 3000;
    });
    // Twice, as when npx forwards a signal that the terminal also sent.
    for (const signal of ["SIGINT", "SIGINT"] as const) child.kill(signal);
    assert.deepEqual(await ended, [0, null], errors());
    assert.equal(lines(output())[0]!.event.type, "email.delivered");
  }
});

test("events --follow resumes from the last shared cursor after the database lost events", async () => {
  const { sql } = database;
  const { body } = await program.call("EmailService/ListEvents", { cursor: "latest" });
  const shared = body.nextCursor as string;
  await cutLogs(sql);
  await program.call("EmailService/SendEmail", {
    from: "a@example.test",
    to: ["b@example.test"],
    subject: "",
    body: "Hi",
  });
  for (const access of [viaStore(), viaApi()]) {
    // The cursor of an event that was lost: the next number, without the name of the cut.
    const args = ["events", "--follow", "--json", "--cursor", String(Number(shared) + 1)];
    const { child, ended, output, errors } = follow(args, access);
    await until("the new event", () => {
      assert.equal(child.exitCode, null, errors());
      return lines(output()).length > 0;
    });
    child.kill("SIGINT");
    assert.deepEqual(await ended, [0, null], errors());
    assert.match(errors(), new RegExp(`Reconnecting after cursor ${shared} `));
    assert.match(lines(output())[0]!.cursor, new RegExp(`^${Number(shared) + 1}-${shared}[a-z]{6}$`));
  }
});

/** Runs a command that ends with a signal. */
function follow(args: string[], access: Record<string, string>) {
  const child = spawn(process.execPath, [bin, ...args], { env: { ...process.env, ...access } });
  let output = "";
  let errors = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  child.stderr.on("data", (chunk) => (errors += chunk));
  return { child, ended: once(child, "exit"), output: () => output, errors: () => errors };
}

/** Sends a signal to the process itself while it loads the command line, before any command runs. */
const signalWhileLoading = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  const load = (url, context, next) => {
    if (url.endsWith("/src/app/cli.ts")) process.kill(process.pid, "SIGINT");
    return next(url, context);
  };
  registerHooks({ load });
`)}`;

test("a Ctrl-C while the command is still loading ends it cleanly", async () => {
  const env = {
    ...process.env,
    POSTHORN_DATA_DIR: join(program.dataDir, "early"),
    DATABASE_URL: database.url,
    POSTHORN_SECRET: testSecret,
    POSTHORN_HTTP: "127.0.0.1:0",
    POSTHORN_SMTP: "127.0.0.1:0",
    POSTHORN_SUBMISSION: "127.0.0.1:0",
    POSTHORN_SUBMISSIONS: "127.0.0.1:0",
    POSTHORN_DNS: "127.0.0.1:0",
    POSTHORN_OPS: "127.0.0.1:0",
  };
  for (const args of [["events", "--follow"], ["start"]]) {
    const child = spawn(process.execPath, ["--import", signalWhileLoading, bin, ...args], { env });
    const output = await outputOf(child);
    assert.deepEqual([child.exitCode, child.signalCode], [0, null], output);
    if (args[0] === "start") assert.match(output, /"msg":"stopped"/);
  }
});

test("on a stopped instance, send stores the email and reports that, and events still works", async () => {
  await program.stop();
  const sent = await posthorn([...sendArgs, "--body", "Later.", "ada@example.test"]);
  assert.equal(sent.code, 0, sent.stderr);
  assert.match(sent.stdout, /QUEUED[\s\S]*will be sent when one starts/);
  assert.ok(lines((await posthorn(["events", "--json"])).stdout).length > 3);
  program = await startProgram({ databaseUrl: database.url, dataDir: program.dataDir });
  const id = sent.stdout.split(" ")[0];
  await until("the stored email to be delivered", async () => {
    const { body } = await program.call("EmailService/GetEmail", { id });
    return (body.email as { status: string }).status === "EMAIL_STATUS_SENT";
  });
});

type Finding = { check: string; result: string; found: string; fix?: string };
const findings = (stdout: string): Finding[] =>
  stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Finding);

test("doctor passes on a running instance and gives a fix for each warning", async () => {
  const { code, stdout, stderr } = await posthorn(["doctor", "--json"]);
  assert.deepEqual([code, stderr], [0, ""], stdout);
  const found = findings(stdout);
  for (const check of [
    "settings",
    "disk",
    "database",
    "nodes",
    "http",
    "smtp",
    "dns",
    "TLS",
    "zone",
    "reports",
    "PTR",
    "outbound",
  ])
    assert.ok(
      found.some((one) => one.check === check && one.result === "ok"),
      `${check} in ${stdout}`,
    );
  for (const { result, fix, found: what } of found) assert.equal(fix !== undefined, result !== "ok", what);
  const shown = await posthorn(["doctor"]);
  assert.match(shown.stdout, /^(ok {2}|warn) {2}database {3}PostgreSQL/m);
});

test("doctor reports what prevents delivery, and a port that is taken, with exit code 1", async (t) => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  t.after(() => taken.close());
  const { port } = taken.address() as { port: number };
  const env = {
    POSTHORN_DELIVERY: "direct",
    POSTHORN_PUBLIC_IPS: "10.0.0.1",
    POSTHORN_RESOLVERS: "127.0.0.1:9",
    POSTHORN_SMTP: `127.0.0.1:${port}`,
    POSTHORN_DATA_DIR: join(program.dataDir, "other"),
  };
  const { code, stdout } = await posthorn(["doctor", "--json"], env);
  assert.equal(code, 1);
  const failed = findings(stdout).filter(({ result }) => result === "fail");
  const checks = new Set(failed.map(({ check }) => check));
  for (const check of ["settings", "smtp", "zone", "PTR", "outbound"])
    assert.ok(checks.has(check), `${check}: ${stdout}`);
  assert.match(failed.find(({ check }) => check === "smtp")!.found, /EADDRINUSE/);
});

test("doctor checks the zone, PTR records and outbound SMTP against DNS and a mail server", async (t) => {
  const dns = await startScriptedDns();
  t.after(dns.stop);
  const sink = await startSink();
  t.after(() => sink.close().catch(() => {}));
  const [ip, zone, host] = ["5.9.10.11", "mail.shop.example.com", "mx1.mail.shop.example.com"];
  dns.set(zone, "NS", `ns1.${zone}`);
  dns.set(`spf.${zone}`, "TXT", `v=spf1 ip4:${ip} -all`);
  dns.set(`inbound.${zone}`, "A", ip);
  dns.set(host, "A", ip);
  dns.set("11.10.9.5.in-addr.arpa", "PTR", host);
  dns.set("receiver.test", "MX", "10 mx.receiver.test");
  dns.set("mx.receiver.test", "A", "127.0.0.1");
  const env = {
    POSTHORN_DELIVERY: "direct",
    POSTHORN_PUBLIC_IPS: ip,
    POSTHORN_RESOLVERS: `127.0.0.1:${dns.port}`,
    POSTHORN_ZONE: zone,
    POSTHORN_HOSTNAME: host,
    POSTHORN_MX_PORT: String(sink.port),
    POSTHORN_DATA_DIR: join(program.dataDir, "real"),
  };
  const runDoctor = async () => {
    const { code, stdout } = await posthorn(["doctor", "--json", "--probe", "receiver.test"], env);
    const of = (check: string) => findings(stdout).filter((one) => one.check === check);
    return { code, zone: of("zone"), ptr: of("PTR"), outbound: of("outbound"), reports: of("reports"), stdout };
  };
  const healthy = await runDoctor();
  for (const found of [healthy.zone, healthy.ptr, healthy.outbound])
    assert.deepEqual(
      found.map(({ result }) => result),
      ["ok"],
      healthy.stdout,
    );
  assert.match(healthy.reports[0]!.found, new RegExp(`^reports.${zone} has no MX record to inbound.${zone}`));
  dns.set(`reports.${zone}`, "MX", `10 inbound.${zone}`);
  dns.set("11.10.9.5.in-addr.arpa", "PTR", "static-11-10-9-5.provider.test");
  dns.set(`spf.${zone}`, "TXT", "v=spf1 -all");
  await sink.close();
  const broken = await runDoctor();
  assert.equal(broken.code, 1);
  assert.match(broken.ptr[0]!.found, /PTR record of 5\.9\.10\.11 is static-11-10-9-5\.provider\.test/);
  assert.match(broken.zone[0]!.found, /without the addresses 5\.9\.10\.11/);
  assert.match(broken.outbound[0]!.fix!, /open outbound port 25/);
  assert.match(broken.reports[0]!.found, /receives mail|may not report about/);
});

type Line = { cursor: string; event: { type: string; createdAt: string } };

function lines(text: string): Line[] {
  return text.trim() === ""
    ? []
    : text
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Line);
}

async function outputOf(child: ChildProcess): Promise<string> {
  let output = "";
  child.stdout!.on("data", (chunk) => (output += chunk));
  await once(child, "close");
  return output;
}
