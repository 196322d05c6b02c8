/** posthorn secret rotate is killed at many moments, with the secret in settings and in the data directory: nothing is lost. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { createSecrets } from "../../src/postgres/sealing.ts";
import { beginReplacement, checkSecret, lockSecretState, readSecretState } from "../../src/postgres/secret-state.ts";
import { registerWorker } from "../../src/postgres/workers.ts";
import { makeSigningSecret, secretContext } from "../../src/webhooks/store/webhooks.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { firstLink, openBrowser, password, signUpFirst, tokenIn } from "../harness/people.ts";
import { newDataDir, type RunningProgram, runCommand, startProgram, testSecret } from "../harness/program.ts";
import { bothSecrets, countSealed, idOf, killSecret, newSecret, openAll, runSecret } from "../harness/secrets.ts";
import { until } from "../harness/wait.ts";

/** Webhooks with secrets that are sealed with the old secret. Half of them have an earlier secret, too. */
async function addWebhooks({ sql }: TestDatabase, count: number): Promise<void> {
  const [workspace] = await sql<{ id: string }[]>`
    insert into workspaces (id, name) values (gen_random_uuid(), 'many') returning id`;
  const { seal } = createSecrets(testSecret);
  const ids = (await sql<{ id: string }[]>`select gen_random_uuid() as id from generate_series(1, ${count})`).map(
    ({ id }) => id,
  );
  const sealed = () => ids.map((id) => seal(makeSigningSecret(), secretContext(id)));
  await sql`insert into webhooks (workspace_id, id, url, secret_sealed, previous_secret_sealed, previous_secret_until, followed)
    select ${workspace!.id}, id, 'https://example.com', sealed, case when n % 2 = 0 then earlier end, case when n % 2 = 0 then now() end, 0
    from unnest(${ids}::uuid[], ${sealed()}::text[], ${sealed()}::text[]) with ordinality as w(id, sealed, earlier, n)`;
}

async function newStore(t: TestContext): Promise<{ database: TestDatabase; dataDir: string }> {
  const database = await createTestDatabase();
  const dataDir = await newDataDir();
  t.after(async () => {
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  });
  return { database, dataDir };
}

describe("with the secret in settings", () => {
  it("a replacement that is killed many times ends with every text sealed anew, once", async (t) => {
    const { database, dataDir } = await newStore(t);
    const { sql } = database;
    await checkSecret(sql, createSecrets(testSecret));
    await addWebhooks(database, 6000);
    const both = createSecrets(newSecret, testSecret);
    const plain = await openAll(sql, both);
    assert.equal(plain.length, 9000);
    const options = { dataDir, databaseUrl: database.url, env: bothSecrets };
    const prefix = `s2.${idOf(newSecret)}.`;
    let kills = 0;
    for (let round = 0; round < 5; round++) {
      const before = await countSealed(sql, prefix);
      const further = async () => {
        while ((await countSealed(sql, prefix)) < before + 100) await delay(5);
      };
      if (!(await killSecret(["rotate"], options, further))) break;
      kills++;
      assert.deepEqual(await openAll(sql, both), plain, `after ${kills} kills`);
    }
    assert.ok(kills >= 3, `${kills} kills`);
    assert.ok((await countSealed(sql, prefix)) < 9000, "killed before the end");
    assert.match(await runSecret(["status"], options), /has not finished.*[\s\S]*posthorn secret rotate/);
    const alone = await runCommand(["secret", "status"], { ...options, env: { POSTHORN_SECRET: newSecret } });
    assert.match(alone.stderr, /Set POSTHORN_SECRET_PREVIOUS to that one until posthorn secret rotate has finished/);
    await runSecret(["rotate"], options);
    assert.deepEqual(await openAll(sql, createSecrets(newSecret)), plain);
    assert.equal(await countSealed(sql, "s1."), 0);
  });

  it("a text that neither secret opens stays as it is, is named, and does not stop the others", async (t) => {
    const { database, dataDir } = await newStore(t);
    const { sql } = database;
    await checkSecret(sql, createSecrets(testSecret));
    await addWebhooks(database, 10);
    const [broken] = await sql<{ id: string }[]>`
      update webhooks set secret_sealed = 's1.AAAA' || substr(secret_sealed, 8) where id = (select min(id::text)::uuid from webhooks) returning id`;
    const options = { dataDir, databaseUrl: database.url, env: bothSecrets };
    assert.match(
      await runSecret(["rotate"], options),
      new RegExp(`Neither secret opens 1 stored secrets.*${broken!.id}`),
    );
    assert.equal(await countSealed(sql, `s2.${idOf(newSecret)}.`), 14);
    const status = JSON.parse(await runSecret(["status", "--json"], options));
    assert.deepEqual([status.stage, status.sealedWithOthers], ["valid", 1]);
    const program = await startProgram({ databaseUrl: database.url, env: { POSTHORN_SECRET: newSecret } });
    await program.remove();
  });

  it("a node that comes back without the new secret is not ready and seals nothing", async (t) => {
    const database = await createTestDatabase();
    const program = await startProgram({ databaseUrl: database.url });
    t.after(async () => {
      await program.remove();
      await database.drop();
    });
    const isReady = async () => (await fetch(`${program.opsUrl}/readyz`)).status === 200;
    assert.ok(await isReady());
    // As if the node had been cut off while the secret was replaced.
    await database.sql.begin(async (tx) => {
      await lockSecretState(tx);
      const to = createSecrets(newSecret).held()[0]!;
      await beginReplacement(tx, { from: idOf(testSecret), to, revoke: false, earlier: undefined });
    });
    await until("the node to notice", async () => !(await isReady()));
    const details = await (await fetch(`${program.opsUrl}/readyz`)).text();
    assert.match(details, /POSTHORN_SECRET is a secret that was replaced/);
    const { status } = await program.call("WebhookService/CreateWebhook", { url: "https://example.com/" });
    assert.equal(status, 500);
    assert.equal((await database.sql`select 1 from webhooks`).length, 0);
  });

  it("does not begin while a program of an earlier release runs", async (t) => {
    const { database, dataDir } = await newStore(t);
    await checkSecret(database.sql, createSecrets(testSecret));
    await registerWorker(database.sql, { host: "older.example", pid: 7, roles: ["api"], version: "0.0.9" });
    const options = { dataDir, databaseUrl: database.url, env: bothSecrets };
    const { code, stderr } = await runCommand(["secret", "rotate"], options);
    assert.equal(code, 1);
    assert.match(stderr, /do not have the new secret.*older\.example, process 7 \(Posthorn 0\.0\.9\)/);
    assert.equal((await readSecretState(database.sql)).replacement, undefined);
  });
});

describe("with the secret in the data directory", () => {
  const env = { POSTHORN_SECRET: "" };
  const email = { from: "a@example.test", to: ["b@example.test"], subject: "Hello", body: "Hello" };
  const sends = async (program: RunningProgram) =>
    assert.equal((await program.call("EmailService/SendEmail", email)).body.status, "EMAIL_STATUS_SENT");

  it("a running program follows without a restart, and a backup from before restores with its own secret", async (t) => {
    const root = await newDataDir();
    const [dataDir, copy, restored] = ["data", "copy", "restored"].map((name) => join(root, name)) as [
      string,
      string,
      string,
    ];
    const running: RunningProgram[] = [];
    t.after(async () => {
      for (const program of running) await program.stop();
      await rm(root, { recursive: true, force: true });
    });
    const start = async (on: string) => {
      const program = await startProgram({ dataDir: on, env });
      running.push(program);
      return program;
    };
    const options = { dataDir, env };
    const read = async (name: string) => (await readFile(join(dataDir, name), "utf8")).trim();
    const program = await start(dataDir);
    const first = await read("secret");
    const link = await firstLink(program);
    await sends(program);
    const made = await runCommand(["backup", copy], options);
    assert.equal(made.code, 0, made.stderr);

    const idle = await runCommand(["secret", "rotate"], options);
    assert.deepEqual([idle.code, await read("secret")], [1, first]);
    assert.match(idle.stderr, /run posthorn secret rotate --new/);
    const out = await runSecret(["rotate", "--new"], options);
    const file = join(dataDir, "secret.previous");
    assert.match(out, new RegExp(`Keep the file ${file} until 20\\d\\d-\\d\\d-\\d\\d, then delete it\\.`));
    const second = await read("secret");
    assert.notEqual(second, first);
    assert.equal(await read("secret.previous"), first);
    assert.equal((await stat(join(dataDir, "secret.previous"))).mode & 0o777, 0o600);
    await sends(program);
    // The file has the new link; the old one is valid, too.
    await until("the new link", async () => (await firstLink(program)) !== link);
    const browser = openBrowser(program);
    assert.equal((await browser.post("/auth/link", { token: tokenIn(link) })).body.kind, "first");
    const { workspace } = await signUpFirst(program);
    assert.ok(workspace);

    // Repeated without --new, nothing changes. With --new, the tokens of the first secret would end.
    await runSecret(["rotate"], options);
    assert.equal(await read("secret"), second);
    const early = await runCommand(["secret", "rotate", "--new"], options);
    assert.equal(early.code, 1);
    assert.match(early.stderr, /--revoke/);
    assert.equal(await read("secret"), second, "refused before the files change");
    const signedIn = openBrowser(program);
    await signedIn.post("/auth/sign-in", { email: "owner@there.test", password });
    assert.match(await runSecret(["rotate", "--new", "--revoke"], options), /everyone must sign in again/);
    assert.equal(await read("secret.previous"), second);
    assert.equal((await signedIn.get("/auth/state")).body.person, null);
    assert.equal((await signedIn.post("/auth/sign-in", { email: "owner@there.test", password })).status, 200);
    await sends(program);
    const { stdout: doctor } = await runCommand(["doctor", "--json"], options);
    const finding = doctor.split("\n").find((line) => line.includes('"check":"secret"'));
    assert.match(finding!, /"result":"warn".*no longer needed.*Delete the file/);
    await rm(join(dataDir, "secret.previous"));
    await program.stop();
    await sends(await start(dataDir));

    const back = await runCommand(["restore", copy], { dataDir: restored, env });
    assert.equal(back.code, 0, back.stderr);
    assert.equal((await readFile(join(restored, "secret"), "utf8")).trim(), first);
    assert.ok(!existsSync(join(restored, "secret.previous")));
    await sends(await start(restored));
  });

  it("two replacements at once, after a crash of the program, generate one secret", async (t) => {
    const dataDir = await newDataDir();
    let program = await startProgram({ dataDir, env });
    t.after(() => program.remove());
    const read = async (name: string) => (await readFile(join(dataDir, name), "utf8")).trim();
    const first = await read("secret");
    await program.kill();
    const runs = await Promise.all([1, 2].map(() => runCommand(["secret", "rotate", "--new"], { dataDir, env })));
    assert.equal(await read("secret.previous"), first);
    assert.notEqual(await read("secret"), first);
    assert.ok(
      runs.some(({ code }) => code === 0),
      runs.map(({ stderr }) => stderr).join(),
    );
    program = await startProgram({ dataDir, env });
    await sends(program);
  });

  it("a replacement that is killed at any moment continues, with a program that starts in between", async (t) => {
    const dataDir = await newDataDir();
    let program = await startProgram({ dataDir, env });
    t.after(() => program.remove());
    const options = { dataDir, env };
    const read = async (name: string) => (await readFile(join(dataDir, name), "utf8").catch(() => "")).trim();
    const first = await read("secret");

    // Killed right after the first file, and right after the second one.
    await writeFile(join(dataDir, "secret.previous"), `${first}\n`, { mode: 0o600 });
    await program.kill();
    program = await startProgram({ dataDir, env });
    await sends(program);
    await killSecret(["rotate", "--new"], options, () =>
      until("the new file", async () => (await read("secret")) !== first),
    );
    const second = await read("secret");
    assert.notEqual(second, first);
    await program.kill();
    program = await startProgram({ dataDir, env });
    await sends(program);
    for (const ms of [300, 900, 1500]) await killSecret(["rotate", "--new"], options, () => delay(ms));
    await runSecret(["rotate"], options);
    assert.deepEqual([await read("secret"), await read("secret.previous")], [second, first], "no third secret");
    await sends(program);
    await program.stop();
    program = await startProgram({ dataDir, env });
    await sends(program);
  });
});
