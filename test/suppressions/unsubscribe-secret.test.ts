/** Links in mail are used for years: they work after the secret of the service was replaced and revoked. */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { after, before, test } from "node:test";
import { newDataDir } from "../harness/program.ts";
import { bothSecrets, newSecret, runSecret } from "../harness/secrets.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { entriesOf, oneClick, publicUrl, sendWithLink } from "../harness/unsubscribe.ts";

let testbed: Testbed;
let commandDir: string;
before(async () => {
  commandDir = await newDataDir();
  testbed = await startTestbed({ env: { POSTHORN_PUBLIC_URL: publicUrl } });
});
after(async () => {
  await testbed.stop();
  await rm(commandDir, { recursive: true, force: true });
});

test("a link from before the replacement unsubscribes on a node that has only the new secret", async () => {
  const { path } = await sendWithLink(testbed, "old@there.test", "news");
  await testbed.program.stop();
  const both = await testbed.startNode(bothSecrets);
  await runSecret(["rotate", "--revoke"], { dataDir: commandDir, databaseUrl: testbed.database.url, env: bothSecrets });
  await both.stop();
  const node = await testbed.startNode({ POSTHORN_SECRET: newSecret });
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const answer = await fetch(`${node.url}${path}`, { method: "POST", body: oneClick, headers });
  assert.equal(answer.status, 200, await answer.text());
  assert.deepEqual(
    (await entriesOf(testbed)).map(({ address }) => address),
    ["old@there.test"],
  );
  // New links have the same key.
  const { path: later } = await sendWithLink(testbed, "new@there.test", "news");
  assert.equal((await fetch(`${node.url}${later}`)).status, 200);
});
