/** Runs every curl command of the API reference as printed. The program understands each of them, and its responses match
 * docs/openapi.json. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { fitsSchema, type Schema } from "../harness/openapi.ts";
import { blocksOf, pages, root } from "../harness/pages.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";
import { shell } from "../harness/shell.ts";

const curls = pages()
  .filter(({ path }) => path.startsWith("docs/reference/"))
  .flatMap(({ path, text }) => blocksOf(text).map((block) => ({ path, ...block })))
  .filter(({ language, text }) => language === "sh" && text.startsWith("curl "))
  .map(({ path, text }) => ({ path, text, method: /\/v1\.(\w+\/\w+)/.exec(text)![1]! }));

const openapi = JSON.parse(await readFile(join(root, "docs/openapi.json"), "utf8")) as {
  paths: Record<
    string,
    { post: { description: string; responses: Record<string, { content: Record<string, { schema: Schema }> }> } }
  >;
  components: { schemas: Record<string, Schema> };
};
const operationOf = (method: string) => openapi.paths[`/v1.${method}`]!.post;

let database: TestDatabase;
let program: RunningProgram;
before(async () => {
  database = await createTestDatabase();
  program = await startProgram({ databaseUrl: database.url });
});
after(async () => {
  await program?.remove();
  await database?.drop();
});

test("the reference has a curl command for each method", () => {
  assert.deepEqual(curls.map(({ method }) => `/v1.${method}`).sort(), Object.keys(openapi.paths).sort());
});

/** Codes that mean the example itself is wrong. An unknown id is not a fault of the example. */
const faults = ["invalid_argument", "unimplemented", "internal", "unknown", "unauthenticated", "data_loss"];

for (const { path, method, text } of curls) {
  test(`${method} in ${path}`, async () => {
    const { description } = operationOf(method);
    const streams = text.includes("-sSN");
    // The stream stays open until the client disconnects.
    const script = text
      .replace(/^curl/, streams ? "curl --max-time 2" : "curl")
      .replace("http://127.0.0.1:8825", program.url);
    const env = { ...process.env, POSTHORN_API_KEY: program.key };
    const output = await shell(script, { env }).catch((error) => {
      if (error.code === 28) return error as { stdout: string };
      throw error;
    });
    const answer = JSON.parse(streams ? output.stdout.split("\n")[0]! : output.stdout) as {
      code?: string;
      message?: string;
    };
    if (typeof answer.code === "string" && typeof answer.message === "string") {
      const forPeople = description.includes("Permission: signed-in people only");
      if (!description.includes("Planned:") && !forPeople) assert.ok(!faults.includes(answer.code), output.stdout);
      fitsSchema(answer, { $ref: "#/components/schemas/Error" }, openapi.components.schemas);
    } else {
      const [{ schema }] = Object.values(operationOf(method).responses["200"]!.content) as [{ schema: Schema }];
      fitsSchema(answer, schema, openapi.components.schemas);
    }
  });
}
