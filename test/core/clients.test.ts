/** The clients that people really use, over every protocol: the same call gets the same answer, and the same error. */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { KeyService } from "../../src/gen/v1/key_pb.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { needs } from "../harness/foreign.ts";
import { newDataDir, type RunningProgram, startProgram } from "../harness/program.ts";
import { buildImage, rpcClients, type Told } from "../harness/rpc-clients.ts";
import { createKey } from "../harness/workspaces.ts";

const method = KeyService.method.listKeys;
const place = await newDataDir();
const image = join(place, "contract.binpb");
let database: TestDatabase;
let program: RunningProgram;

before(async () => {
  buildImage(image);
  database = await createTestDatabase();
  program = await startProgram({ databaseUrl: database.url });
  for (const name of ['with "quotes"', "Zoë’s key 🔑", "<b>"]) await createKey(program, { name, permission: "SEND" });
});

after(async () => {
  await program?.remove();
  await database?.drop();
  await rm(place, { recursive: true, force: true });
});

/** The three newest keys, which nobody uses: nothing in the answer changes between two calls. */
const good = { pageSize: 3 };
const bad = { pageSize: -1, pageToken: "nonsense" };

for (const client of rpcClients(image)) {
  const skip = client.needs && needs(client.needs);
  describe(client.name, () => {
    const ask = (request: object, key: string | undefined): Promise<Told> =>
      client.call({ url: program.url, method, request: request as Record<string, number>, key });

    it("gets the answer", { skip }, async () => {
      const told = await ask(good, program.key);
      assert.ok("ok" in told, JSON.stringify(told));
      const { data, nextPageToken } = told.ok as {
        data: { name: string; permission: string }[];
        nextPageToken: string;
      };
      assert.deepEqual(
        data.map(({ name, permission }) => [name, permission]),
        ["<b>", "Zoë’s key 🔑", 'with "quotes"'].map((name) => [name, "KEY_PERMISSION_SEND"]),
      );
      assert.match(nextPageToken, /^[\w-]{22}$/);
      reference ??= told;
      assert.deepEqual(told, reference);
    });

    it("gets the error with every field that is wrong", { skip }, async () => {
      const told = await ask(bad, program.key);
      assert.ok("error" in told, JSON.stringify(told));
      const { code, message, violations } = told.error;
      assert.equal(code, "invalid_argument");
      assert.match(message, /^pageSize: must not be negative, is -1.*; pageToken: is not a token/);
      const [{ fieldViolations }] = violations as [{ fieldViolations: { field: string; description: string }[] }];
      assert.deepEqual(fieldViolations.map(({ field, description }) => `${field}: ${description}`).join("; "), message);
    });

    it("gets the refusal without a key, in full", { skip }, async () => {
      const told = await ask(good, undefined);
      assert.ok("error" in told, JSON.stringify(told));
      assert.equal(told.error.code, "unauthenticated");
      assert.match(told.error.message, /Authorization: Bearer ph_… with a key/);
      assert.deepEqual(told.error.violations, []);
    });
  });
}

/** What the first client got: all others must get it too, to the last field. */
let reference: Told | undefined;
