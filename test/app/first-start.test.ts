/** An operator's first minutes: the welcome text, the first key, keys create, and clear errors for mistakes. */
import assert from "node:assert/strict";
import { mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { firstLink, openBrowser, password, tokenIn } from "../harness/people.ts";
import { newDataDir, type RunningProgram, runCommand, startProgram, testSecret } from "../harness/program.ts";
import { shell } from "../harness/shell.ts";
import { until } from "../harness/wait.ts";

/** The curl commands of the welcome text, which is printed shortly after ports.json is written. */
async function curlsOf(program: RunningProgram): Promise<string[]> {
  return await until("the curls of the welcome", () => {
    const found = program.output().match(/^ {4}curl [\s\S]*?[^\\]$/gm) ?? [];
    return found.length >= 2 ? [...found] : undefined;
  });
}

/** Runs a command as pasted into a shell. */
async function paste(command: string, env: Record<string, string>): Promise<Record<string, unknown>> {
  const { stdout } = await shell(command, { env: { ...process.env, ...env } });
  return JSON.parse(stdout) as Record<string, unknown>;
}

/** The first command sends an email, the second lists its event. */
async function tryWelcome(program: RunningProgram, env: Record<string, string> = {}): Promise<void> {
  const [send, list] = await curlsOf(program);
  const sent = await paste(send!, env);
  // On a busy machine the answer may come before the end of the first attempt.
  assert.match(sent.status as string, /^EMAIL_STATUS_(SENT|PROCESSING|QUEUED)$/, JSON.stringify(sent));
  await until("the event of the email", async () => {
    const { data } = (await paste(list!, env)) as { data: { event: { type: string; emailId: string } }[] };
    return data.some(({ event }) => event.emailId === sent.id && event.type === "email.delivered");
  });
}

/** The lines of the log: all output except the welcome text. */
const logLines = (program: RunningProgram) =>
  program
    .output()
    .split("\n")
    .filter((line) => line !== "" && !/^( {2}|Posthorn is running)/.test(line));

describe("the program with its embedded database", async () => {
  const dataDir = await newDataDir();
  let program: RunningProgram;
  let createdKey = "";
  after(async () => await program?.remove());
  const options = { dataDir };

  it("prints the path of the first key and curl commands that work as printed", async () => {
    program = await startProgram(options);
    assert.match(program.key, /^ph_[0-9A-Za-z]{8}_[0-9A-Za-z]{32}$/);
    await tryWelcome(program);
    for (const name of ["first-key", "first-sign-up"]) assert.ok(program.output().includes(join(dataDir, name)), name);
    assert.match(program.output(), /no mail leaves this machine/);
  });

  it("keys create works while the program runs", async () => {
    const { code, stdout, stderr } = await runCommand(["keys", "create"], options);
    assert.deepEqual([code, stderr], [0, ""]);
    createdKey = stdout.trim();
    assert.equal((await program.call("KeyService/ListKeys", {}, { key: createdKey })).status, 200);
  });

  it("refuses a second program on the same data directory", async () => {
    const { code, stderr } = await runCommand(["start"], options);
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`already runs on the data directory ${dataDir}: process ${program.pid}`));
    assert.equal((await program.call("KeyService/ListKeys")).status, 200);
  });

  it("answers /healthz and /readyz, and /metrics on the operations port", async () => {
    assert.equal((await fetch(`${program.url}/healthz`)).status, 200);
    assert.deepEqual(await (await fetch(`${program.url}/readyz`)).json(), { ready: true });
    const metrics = await (await fetch(`${program.opsUrl}/metrics`)).text();
    assert.match(metrics, /^posthorn_requests_total\{method="KeyService\/ListKeys",code="ok"\} \d+$/m);
    for (const name of ["request_duration_seconds_count", "queue_recipients", "database_connections"])
      assert.match(metrics, new RegExp(`^posthorn_${name}\\{`, "m"));
  });

  it("refuses metrics on the API's port without a token, also on loopback", async () => {
    const answer = await fetch(`${program.url}/metrics`);
    assert.equal(answer.status, 401);
    assert.match(await answer.text(), /POSTHORN_METRICS_TOKEN.*POSTHORN_OPS/);
  });

  it("serves its contract at /openapi.json", async () => {
    const answer = await fetch(`${program.url}/openapi.json`);
    assert.equal(answer.headers.get("content-type"), "application/json");
    const { openapi, paths } = (await answer.json()) as { openapi: string; paths: object };
    assert.equal(openapi, "3.1.0");
    assert.ok("/v1.EmailService/SendEmail" in paths);
    assert.equal((await fetch(`${program.url}/openapi.json`, { method: "HEAD" })).status, 200);
    assert.equal((await fetch(`${program.url}/openapi.json`, { method: "POST" })).status, 405);
  });

  it("keys created while the program is stopped work after its next start", async () => {
    assert.equal(await program.stop(), 0);
    const { code, stdout } = await runCommand(["keys", "create", "--permission", "read", "--test"], options);
    assert.equal(code, 0);
    assert.match(stdout, /^ph_test_\w+\n$/);
    program = await startProgram(options);
    assert.equal((await program.call("KeyService/ListKeys", {}, { key: stdout.trim() })).status, 200);
    assert.equal((await program.call("KeyService/ListKeys", {}, { key: createdKey })).status, 200);
  });

  it("prints curl commands that work after a restart too", async () => {
    await tryWelcome(program);
  });

  it("logs JSON lines without secrets", async () => {
    await program.call("KeyService/ListKeys", { pageSize: -1 });
    const facts = JSON.parse(await readFile(join(dataDir, "postgres.json"), "utf8")) as { url: string };
    const lines = logLines(program);
    assert.ok(lines.length >= 2);
    for (const line of lines) {
      const { level, time, msg } = JSON.parse(line) as Record<string, string>;
      assert.ok(level && msg && !Number.isNaN(Date.parse(time ?? "")), line);
      for (const secret of [program.key, createdKey, testSecret, new URL(facts.url).password])
        assert.ok(!line.includes(secret), line);
    }
  });
});

describe("keys and links", () => {
  it("are in no line of output without a terminal, and every file is closed to other accounts", async (t) => {
    const folder = await newDataDir();
    t.after(() => rm(folder, { recursive: true, force: true }));
    // The program creates the data directory itself, and generates the secret, since none is set.
    const env = { POSTHORN_SECRET: "", POSTHORN_LOG_LEVEL: "trace", POSTHORN_LOG_FORMAT: "json" };
    const program = await startProgram({ dataDir: join(folder, "data"), env });
    t.after(program.remove);
    await tryWelcome(program);
    const { mode } = await stat(program.dataDir);
    // PostgreSQL does not run as root: its account must be able to enter the directory, and no other account.
    assert.equal(mode & 0o777, process.getuid?.() === 0 ? 0o710 : 0o700);
    const secrets = [program.key, tokenIn(await firstLink(program))];
    secrets.push((await readFile(join(program.dataDir, "secret"), "utf8")).trim());
    const facts = JSON.parse(await readFile(join(program.dataDir, "postgres.json"), "utf8")) as { url: string };
    secrets.push(new URL(facts.url).password);
    const browser = openBrowser(program);
    const person = { email: "olga@there.test", name: "Olga", password, token: secrets[1] };
    assert.equal((await browser.post("/auth/sign-up", person)).status, 200);
    secrets.push(password, ...[...browser.cookies.values()].map((value) => decodeURIComponent(value).split(".")[0]!));
    assert.deepEqual(await openToOthers(program.dataDir), []);
    assert.equal(await program.stop(), 0);
    for (const secret of secrets) {
      assert.ok(secret.length >= 16, "too short to be a secret");
      assert.ok(!program.output().includes(secret), `a secret is in the output: ${secret}`);
    }
  });
});

/** Files and folders that other accounts can read or enter. PostgreSQL's account reads its settings, which contain no secret. */
async function openToOthers(dataDir: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(dataDir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (["postgres/", "postgres.conf", "postgres.lock"].some((own) => path.startsWith(join(dataDir, own)))) continue;
    const { mode } = await stat(path);
    if ((mode & 0o077) !== 0) found.push(`${path} ${(mode & 0o777).toString(8)}`);
  }
  return found;
}

it("outside loopback, the key is only in its file, and metrics need the token", async (t) => {
  const database = await createTestDatabase({ example: true });
  t.after(database.drop);
  // A path that breaks a shell command without proper quoting.
  const folder = await newDataDir();
  const dataDir = join(folder, "my $HOME's data");
  await mkdir(dataDir);
  const token = "a token for the metrics";
  const program = await startProgram({
    dataDir,
    databaseUrl: database.url,
    env: { POSTHORN_HTTP: "0.0.0.0:0", POSTHORN_METRICS_TOKEN: token },
  });
  t.after(async () => {
    await program.remove();
    await rm(folder, { recursive: true, force: true });
  });
  assert.match(program.key, /^ph_/);
  assert.ok(!program.output().includes(program.key), program.output());
  assert.equal((await stat(join(dataDir, "first-key"))).mode & 0o777, 0o600);
  await tryWelcome(program);
  const metrics = async (authorization?: string) =>
    (await fetch(`${program.url}/metrics`, { headers: authorization ? { authorization } : {} })).status;
  assert.equal(await metrics(), 401);
  assert.equal(await metrics("Bearer another token"), 401);
  assert.equal(await metrics(`Bearer ${token}`), 200);
});

describe("with POSTHORN_API_KEY", () => {
  let database: TestDatabase;
  const running: RunningProgram[] = [];
  before(async () => {
    database = await createTestDatabase({ example: true });
  });
  after(async () => {
    for (const program of running) await program.remove();
    await database?.drop();
  });

  it("that key works, and a changed one replaces it", async () => {
    const start = async (key: string, env: Record<string, string> = {}) => {
      const program = await startProgram({ databaseUrl: database.url, env: { POSTHORN_API_KEY: key, ...env } });
      running.push(program);
      return program;
    };
    const [oldKey, newKey] = ["an operator's own key, with 32+ chars".replaceAll(" ", "-"), "n".repeat(32)];
    const first = await start(oldKey);
    assert.equal((await first.call("KeyService/ListKeys", {}, { key: oldKey })).status, 200);
    assert.ok(!first.output().includes(oldKey), "the key is in the output");
    await tryWelcome(first, { POSTHORN_API_KEY: oldKey });
    const second = await start(newKey, { POSTHORN_HTTP: "0.0.0.0:0" });
    assert.equal((await second.call("KeyService/ListKeys", {}, { key: newKey })).status, 200);
    assert.equal((await second.call("KeyService/ListKeys", {}, { key: oldKey })).status, 401);
  });

  it("outside loopback, metrics are refused without a token", async () => {
    // The second program of the test above listens outside loopback.
    assert.equal((await fetch(`${running[1]!.url}/metrics`)).status, 401);
  });
});

describe("mistakes", async () => {
  const dataDir = await newDataDir();
  after(() => rm(dataDir, { recursive: true, force: true }));

  it("in the configuration are all reported at once, with exit code 2", async () => {
    const env = {
      POSTHORN_HTTP: "8825",
      POSTHORN_API_KEY: "short",
      POSTHORN_DELIVERY: "pigeon",
      POSTHORN_HTPP: "127.0.0.1:1",
      POSTHORN_RETRY_SCHEDULE_MS: "soon",
    };
    const { code, stdout, stderr } = await runCommand(["start"], { dataDir, env });
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, /5 mistakes/);
    for (const name of Object.keys(env)) assert.match(stderr, new RegExp(`^ {2}${name}\\b`, "m"));
    assert.ok(!stderr.includes('"short"'), "a secret is in the output");
  });

  it("in a command are reported with exit code 2", async () => {
    const mistakes = [
      [["nonsense"], /no command "nonsense"/],
      [["keys", "create", "--nonsense"], /--nonsense/],
      [["keys", "create", "--permission", "king"], /full, send or read/],
      [["keys", "revoke", "x"], /not a key id/],
    ] as const;
    const ends = await Promise.all(mistakes.map(([args]) => runCommand([...args], { dataDir })));
    for (const [i, { code, stderr }] of ends.entries()) {
      assert.equal(code, 2, stderr);
      assert.match(stderr, mistakes[i]![1]);
    }
  });
});
