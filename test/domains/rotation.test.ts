/** DKIM key rotation while mail is sent: every message verifies against DNS at that time, and the customer publishes nothing. */
import assert from "node:assert/strict";
import { Resolver } from "node:dns/promises";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { dkimVerify } from "mailauth/lib/dkim/verify.js";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { newDataDir, type RunningProgram, runCommand, startProgram } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

describe("DKIM key rotation under load", async () => {
  const dataDir = await newDataDir();
  let database: TestDatabase;
  let program: RunningProgram;
  let id = "";
  let sent = 0;
  const checked = new Set<string>();
  const start = async () => {
    program = await startProgram({ dataDir, databaseUrl: database.url });
  };
  before(async () => {
    database = await createTestDatabase({ example: true });
    await start();
    const { body } = await program.call("DomainService/ListDomains");
    id = (body.data as { id: string }[])[0]!.id;
  });
  after(async () => {
    await program?.remove();
    await database?.drop();
  });

  /** Sends emails, verifies every signature, and returns the selectors that signed. */
  async function send(count: number): Promise<Set<string>> {
    const calls = Array.from({ length: count }, () =>
      program.call("EmailService/SendEmail", {
        from: "news@example.test",
        to: [`n${sent++}@there.test`],
        subject: "Hello",
        body: "Hello",
      }),
    );
    for (const { status, body } of await Promise.all(calls))
      assert.deepEqual([status, body.status], [200, "EMAIL_STATUS_SENT"], JSON.stringify(body));
    const { dns } = JSON.parse(await readFile(join(dataDir, "ports.json"), "utf8")) as { dns: number };
    const resolver = new Resolver();
    resolver.setServers([`127.0.0.1:${dns}`]);
    const selectors = new Set<string>();
    const folder = join(dataDir, "mailbox", "new");
    for (const name of await readdir(folder)) {
      if (checked.has(name)) continue;
      checked.add(name);
      const raw = (await readFile(join(folder, name))).toString().replace(/^Return-Path:.*\r\nDelivered-To:.*\r\n/, "");
      const { results } = (await dkimVerify(Buffer.from(raw), {
        resolver: async (query: string, type: string) => (await resolver.resolve(query, type)) as string[][],
      })) as { results: { status: { result: string }; selector: string }[] };
      assert.deepEqual(
        results.map(({ status }) => status.result),
        ["pass"],
        JSON.stringify(results),
      );
      selectors.add(results[0]!.selector);
    }
    assert.equal(checked.size, sent);
    return selectors;
  }

  const rotate = () => program.call("DomainService/RotateDkim", { id });

  it("keeps signing with the old key while resolvers may have the old record cached", async () => {
    assert.deepEqual(await send(10), new Set(["ph1"]));
    const { status, body } = await rotate();
    assert.equal(status, 200, JSON.stringify(body));
    const inSeconds = (Date.parse(body.signsFrom as string) - Date.now()) / 1000;
    assert.ok(inSeconds > 3600 && inSeconds < 2 * 3600, "after the TTL of cached records");
    assert.deepEqual(await send(10), new Set(["ph1"]));
  });

  it("cannot start again while it is in progress, neither from the API nor from the command line", async () => {
    const { body } = await rotate();
    assert.equal(body.code, "failed_precondition", JSON.stringify(body));
    const command = await runCommand(["domains", "rotate", "example.test"], { dataDir, databaseUrl: database.url });
    assert.equal(command.code, 1);
    assert.match(command.stderr, /in progress/);
  });

  it("switches to the new key at its start time, and every message in between verifies", async () => {
    // Instead of waiting for an hour, the test restarts the program, which clears its caches.
    assert.equal(await program.stop(), 0);
    await start();
    await database.sql`update dkim_keys set active_from = service_time() where active_from > service_time()`;
    const seen = new Set<string>();
    await until("the new key to sign", async () => {
      for (const selector of await send(5)) seen.add(selector);
      return seen.has("ph2");
    });
    assert.deepEqual(await send(5), new Set(["ph2"]));
  });

  it("retires the old key a week after its last signature, and not before", async () => {
    assert.equal((await rotate()).body.code, "failed_precondition");
    await database.sql`update dkim_keys set last_signed_at = service_time() - interval '8 days' where slot = 1`;
    const done = await runCommand(["domains", "rotate", "example.test", "--json"], {
      dataDir,
      databaseUrl: database.url,
    });
    assert.equal(done.code, 0, done.stderr);
    const { domain, signsFrom } = JSON.parse(done.stdout) as { domain: string; signsFrom: string };
    assert.equal(domain, "example.test");
    assert.ok(Date.parse(signsFrom) > Date.now());
    const keys = await database.sql`select slot, retired_at is null as kept from dkim_keys order by created_at, slot`;
    assert.deepEqual(
      keys.map(({ slot, kept }) => [slot, kept]),
      [
        [1, false],
        [2, false],
        [2, true],
        [1, true],
      ],
    );
  });

  it("is rejected for a domain whose records are missing or contain the key itself", async () => {
    const { body } = await program.call("DomainService/AddDomain", { domain: "elsewhere.test" });
    const other = (body.domain as { id: string }).id;
    const missing = await program.call("DomainService/RotateDkim", { id: other });
    assert.equal(missing.body.code, "failed_precondition");
    assert.match(String(missing.body.message), /ph1\._domainkey\.elsewhere\.test/);
    await database.sql`update dkim_keys set active_from = service_time() - interval '9 days', last_signed_at = null`;
    await database.sql`update domains set records = jsonb_set(records, '{0,discoveredValue}', '"v=DKIM1; p=MIIB"') where domain = 'example.test'`;
    const rejected = await rotate();
    assert.equal(rejected.body.code, "failed_precondition", JSON.stringify(rejected.body));
    assert.match(String(rejected.body.message), /is a TXT record that contains the key/);
  });
});
