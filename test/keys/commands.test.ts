/** posthorn keys: limits, expiry, update, rotation and the list, on a running program. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { blocksOf, root } from "../harness/pages.ts";
import { operate, tryOperate } from "../harness/quotas.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed();
});
after(async () => await testbed?.stop());

type Listed = Record<string, unknown> & { id: string; name: string; expiresAt: string | null };
const list = async () =>
  (await operate(testbed, "keys", "list", "--json"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Listed);

test("a key is created with limits, changed, rotated and listed", async () => {
  const limits = ["--allow-address", "127.0.0.0/8", "--allow-address", "::1", "--allow-recipient", "*.staging.test"];
  const made = JSON.parse(
    await operate(
      testbed,
      ...["keys", "create", "--json", "--name", "staging", "--scope", "stats", "--scope", "send", "--expires", "90d"],
      ...["--domain", "sender.test", ...limits],
    ),
  ) as { id: string; secret: string };
  const shown = (await list()).find(({ id }) => id === made.id)!;
  assert.deepEqual(
    [shown.permission, shown.scopes, shown.domain, shown.domains, shown.recipients, shown.addresses],
    ["scoped", ["send", "stats"], "sender.test", ["sender.test"], ["*.staging.test"], ["127.0.0.0/8", "::1/128"]],
  );
  const days = (Date.parse(shown.expiresAt!) - Date.now()) / 86_400_000;
  assert.ok(Math.abs(days - 90) < 0.01, String(days));
  const call = (method: string, key: string) => testbed.call(method, {}, { key });
  assert.equal((await call("StatsService/GetStats", made.secret)).status, 200);
  assert.equal((await call("KeyService/ListKeys", made.secret)).status, 403);

  const update = ["keys", "update", made.id, "--allow-address", "192.0.2.1", "--expires", "never", "--name", "renamed"];
  assert.match(await operate(testbed, ...update), /^Key ph_\w+… changed\.\n$/);
  assert.equal((await call("StatsService/GetStats", made.secret)).status, 403);
  await operate(testbed, "keys", "update", made.id, "--allow-address", "any");
  assert.equal((await call("StatsService/GetStats", made.secret)).status, 200);
  const changed = (await list()).find(({ id }) => id === made.id)!;
  assert.deepEqual([changed.name, changed.expiresAt, changed.addresses], ["renamed", null, null]);

  const secret = (await operate(testbed, "keys", "rotate", made.id, "--overlap", "1h")).trim();
  for (const key of [made.secret, secret]) assert.equal((await call("StatsService/GetStats", key)).status, 200);
  const again = JSON.parse(
    await operate(testbed, "keys", "rotate", (await list())[0]!.id, "--overlap", "0", "--json"),
  ) as { secret: string };
  assert.equal((await call("StatsService/GetStats", secret)).status, 401);
  assert.equal((await call("StatsService/GetStats", again.secret)).status, 200);

  const table = await operate(testbed, "keys", "list");
  assert.match(table, /^ID +PREFIX +PERMISSION +KIND +STATE +LAST USED +EXPIRES +MADE BY +NAME$/m);
  assert.match(table, /send,stats +live +revoked .*renamed$/m);
});

test("the commands of docs/keys.md work", async () => {
  const text = await readFile(join(root, "docs/keys.md"), "utf8");
  const lines = blocksOf(text).map((block) => block.text.replaceAll("\\\n", " ").trim());
  assert.equal(lines.length, 3);
  for (const line of lines) {
    const words = [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c!);
    assert.deepEqual(words.splice(0, 2), ["npx", "posthorn"]);
    const newest = (await list())[0]!.id;
    const secret = await operate(testbed, ...words.map((word) => (word.startsWith("key_") ? newest : word)));
    assert.match(secret, /^ph_\w+\n$/, line);
  }
});

test("the list shows the key that made a key", async () => {
  const { body } = await testbed.call("KeyService/CreateKey", { name: "child", permission: "KEY_PERMISSION_READ" });
  const child = (await list()).find(({ id }) => id === (body.key as { id: string }).id)!;
  assert.equal((child.maker as { kind: string; name: string }).name, "POSTHORN_API_KEY");
});

test("mistakes are explained", async () => {
  const cases: [string[], RegExp][] = [
    [["create", "--permission", "send", "--scope", "send"], /give --permission or --scope/],
    [["create", "--scope", "sending"], /--scope must be one of send, emails, .*not "sending"/],
    [["create", "--expires", "soon"], /--expires must be a duration such as 90d/],
    [["create", "--expires", "2020-01-01"], /--expires must be in the future/],
    [["create", "--allow-address", "010.0.0.1"], /--allow-address: "010\.0\.0\.1": is not an address/],
    [["create", "--domain", "sender.test"], /--domain needs --permission send/],
    [
      ["create", "--scope", "stats", "--allow-recipient", "a.test"],
      /--allow-recipient works only for a key that can send/,
    ],
    [["rotate", "nonsense"], /is not a key id/],
    [["rotate", "key_00000000-0000-7000-8000-000000000001", "--overlap", "31d"], /--overlap must be a duration/],
  ];
  for (const [args, expected] of cases) {
    const { code, stderr } = await tryOperate(testbed, "keys", ...args);
    assert.equal(code, 2, `${args.join(" ")}: ${stderr}`);
    assert.match(stderr, expected);
  }
  const unknown = await tryOperate(testbed, "keys", "rotate", "key_00000000-0000-7000-8000-000000000001");
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /No key key_0+-0+-7000-8000-0+1 in this workspace/);
});
