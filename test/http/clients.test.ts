/** Common API clients over every protocol: the same call gets the same response and the same error. */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { KeyService } from "../../src/gen/v1/key_pb.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { needs } from "../harness/foreign.ts";
import { newDataDir, type RunningProgram, startProgram } from "../harness/program.ts";
import { buildImage, type CallResult, rpcClients } from "../harness/rpc-clients.ts";
import { createKey } from "../harness/workspaces.ts";

const method = KeyService.method.listKeys;
const directory = await newDataDir();
const image = join(directory, "contract.binpb");
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
  await rm(directory, { recursive: true, force: true });
});

/** Lists the three newest keys, which are never used, so that responses do not change between calls. */
const good = { pageSize: 3 };
const bad = { pageSize: -1, pageToken: "nonsense" };

for (const client of rpcClients(image)) {
  const skip = client.needs && needs(client.needs);
  describe(client.name, () => {
    const call = (request: object, key: string | undefined): Promise<CallResult> =>
      client.call({ url: program.url, method, request: request as Record<string, number>, key });

    it("gets the response", { skip }, async () => {
      const result = await call(good, program.key);
      assert.ok("ok" in result, JSON.stringify(result));
      const { data, nextPageToken } = result.ok as {
        data: { name: string; permission: string }[];
        nextPageToken: string;
      };
      assert.deepEqual(
        data.map(({ name, permission }) => [name, permission]),
        ["<b>", "Zoë’s key 🔑", 'with "quotes"'].map((name) => [name, "KEY_PERMISSION_SEND"]),
      );
      assert.match(nextPageToken, /^[\w-]{22}$/);
      reference ??= result;
      assert.deepEqual(result, reference);
    });

    it("gets an error that names every wrong field", { skip }, async () => {
      const result = await call(bad, program.key);
      assert.ok("error" in result, JSON.stringify(result));
      const { code, message, violations } = result.error;
      assert.equal(code, "invalid_argument");
      assert.match(message, /^pageSize: must not be negative, is -1.*; pageToken: is not a token/);
      const [{ fieldViolations }] = violations as [{ fieldViolations: { field: string; description: string }[] }];
      assert.deepEqual(fieldViolations.map(({ field, description }) => `${field}: ${description}`).join("; "), message);
    });

    it("gets the complete error without a key", { skip }, async () => {
      const result = await call(good, undefined);
      assert.ok("error" in result, JSON.stringify(result));
      assert.equal(result.error.code, "unauthenticated");
      assert.match(result.error.message, /Authorization: Bearer ph_… with a key/);
      assert.deepEqual(result.error.violations, []);
    });
  });
}

/** The response to the first client. All others must get exactly the same. */
let reference: CallResult | undefined;
