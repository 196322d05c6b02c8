/** The snippets accept a signed request and reject a changed one, each run by its language. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { Webhook } from "standardwebhooks";
import { needs } from "../../../test/harness/foreign.ts";
import { verifySnippets } from "./verify-code.ts";

const secret = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;
const other = `whsec_${Buffer.alloc(24, 8).toString("base64")}`;
const body = JSON.stringify({ id: "evt_1", text: "Grüße" });
const now = new Date();
const headers = {
  "webhook-id": "evt_1",
  "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
  // After a rotation there are two signatures.
  "webhook-signature": [other, secret].map((one) => new Webhook(one).sign("evt_1", now, body)).join(" "),
};
const code = (id: string) => verifySnippets.find((one) => one.id === id)!.code;
const env = { ...process.env, POSTHORN_WEBHOOK_SECRET: secret };
const cases = JSON.stringify([
  [body, headers],
  [body.replace("evt_1", "evt_2"), headers],
  [body, { ...headers, "webhook-timestamp": "1" }],
]);
const wanted = ["evt_1", "refused", "refused"];

test("the code in Node.js verifies signatures", () => {
  const run = `${code("node")}
    const answers = ${cases}.map(([body, headers]) => { try { return verify(body, headers).id; } catch { return "refused"; } });
    console.log(JSON.stringify(answers));`;
  const options = { input: run, env, encoding: "utf8", timeout: 20_000 } as const;
  assert.deepEqual(JSON.parse(execFileSync(process.execPath, ["--input-type=module", "-"], options)), wanted);
});

test("the code in Python verifies signatures", { skip: needs("python3") }, () => {
  const run = `${code("python")}
answers = []
for body, headers in json.loads(${JSON.stringify(cases)}):
    try:
        answers.append(verify(body.encode(), headers)["id"])
    except ValueError:
        answers.append("refused")
print(json.dumps(answers))`;
  const options = { input: run, env, encoding: "utf8", timeout: 20_000 } as const;
  assert.deepEqual(JSON.parse(execFileSync("python3", ["-"], options)), wanted);
});
