/** The program of an older commit does not start on a database whose secret was replaced: it could not read the keys in it. */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { after, it } from "node:test";
import { createSecrets } from "../../src/postgres/sealing.ts";
import { checkSecret } from "../../src/postgres/secret-state.ts";
import { createTestDatabase } from "../harness/database.ts";
import { checkOut, type OlderCheckout } from "../harness/older-checkout.ts";
import { newDataDir, runCommand, startProgram, testSecret } from "../harness/program.ts";
import { bothSecrets, newSecret, runSecret } from "../harness/secrets.ts";

/** The last commit before secrets could be replaced. */
const olderCommit = "62674455d265fe32c2ec12e3ff2d66be236f81ff";
const checkoutOrReason = await checkOut(olderCommit);
const skip = typeof checkoutOrReason === "string" ? checkoutOrReason : false;
after(async () => {
  if (typeof checkoutOrReason !== "string") await checkoutOrReason.remove();
});

it("an older program runs until the secret is replaced, stops the replacement, and does not start after it", {
  skip,
}, async (t) => {
  const checkout = checkoutOrReason as OlderCheckout;
  const database = await createTestDatabase();
  const dataDir = await newDataDir();
  t.after(async () => {
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  });
  await checkSecret(database.sql, createSecrets(testSecret));
  const options = { dataDir, databaseUrl: database.url, env: bothSecrets };
  const older = await startProgram({ databaseUrl: database.url, checkout });
  const refused = await runCommand(["secret", "rotate"], options);
  assert.match(refused.stderr, new RegExp(`do not have the new secret.*process ${older.pid} `));
  await older.remove();
  await runSecret(["rotate"], options);
  for (const secret of [testSecret, newSecret]) {
    const started = await runCommand(["start"], { ...options, checkout, env: { POSTHORN_SECRET: secret } });
    assert.equal(started.code, 1, started.stdout);
    assert.match(started.stderr, /POSTHORN_SECRET is not the one this database was created with/);
  }
});
