import assert from "node:assert/strict";
import { test } from "node:test";
import { readLogin } from "./auth.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");

async function dialogue(rest: string, ...lines: string[]) {
  const sent: string[] = [];
  const login = await readLogin(rest, { send: (reply) => void sent.push(reply), readLine: async () => lines.shift() });
  return { login, sent };
}

test("PLAIN is read with and without an initial response", async () => {
  const answer = base64("\0posthorn\0ph_key");
  const expected = { user: "posthorn", password: "ph_key" };
  assert.deepEqual(await dialogue(`PLAIN ${answer}`), { login: expected, sent: [] });
  assert.deepEqual(await dialogue("plain", answer), { login: expected, sent: ["334 "] });
  assert.deepEqual((await dialogue(`PLAIN ${base64("posthorn\0posthorn\0ph_key")}`)).login, expected);
});

test("LOGIN asks for what it has not", async () => {
  const prompts = ["334 VXNlcm5hbWU6", "334 UGFzc3dvcmQ6"];
  const expected = { user: "posthorn", password: "ph_key" };
  const [user, password] = [base64("posthorn"), base64("ph_key")];
  assert.deepEqual(await dialogue("LOGIN", user, password), { login: expected, sent: prompts });
  assert.deepEqual(await dialogue(`LOGIN ${user}`, password), { login: expected, sent: prompts.slice(1) });
});

test("anything else is refused, and an ended session has no login", async () => {
  const refusals: [reply: RegExp, rest: string, ...lines: string[]][] = [
    [/^504/, "CRAM-MD5"],
    [/^501/, ""],
    [/^501/, "PLAIN a b"],
    [/^501 5\.5\.2/, "PLAIN !"],
    [/^501 5\.5\.2/, `PLAIN ${base64("posthorn")}`],
    [/^501 5\.7\.0/, "PLAIN", "*"],
    [/^501 5\.7\.0/, "LOGIN", base64("posthorn"), "*"],
    [/^535/, `PLAIN ${base64("root\0posthorn\0ph_key")}`],
  ];
  for (const [reply, rest, ...lines] of refusals) {
    const { login } = await dialogue(rest, ...lines);
    assert.match((login as { reply: string }).reply, reply, rest);
  }
  assert.equal((await dialogue("PLAIN")).login, undefined);
});
