/** Passwords that are easy to guess are refused at sign-up, change and reset. A password that is in use keeps working. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { hashPassword } from "../../src/people/password.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { firstLink, openBrowser, password, tokenIn } from "../harness/people.ts";
import { type Answer, type RunningProgram, runCommand, startProgram } from "../harness/program.ts";

const email = "annabelle.lee@there.test";

/** By the reason for the refusal. */
const refused: Record<string, string> = {
  "is too common": "Password123!",
  "must differ from your address": "ANNABELLE.LEE",
  "repeats one character": "zzzzzzzzzzzz",
};

describe("a password that is easy to guess", () => {
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

  async function assertRefused(field: string, post: (word: string) => Promise<Answer>): Promise<void> {
    for (const [reason, word] of Object.entries(refused)) {
      const { status, body } = await post(word);
      assert.equal(status, 400, `${word}: ${JSON.stringify(body)}`);
      const [violation, ...more] = body.violations as { field: string; description: string }[];
      assert.equal(more.length, 0);
      assert.equal(violation!.field, field);
      assert.ok(violation!.description.startsWith(reason) && violation!.description.includes(": choose"), word);
      assert.ok(!JSON.stringify(body).includes(word), "the answer does not repeat the password");
    }
  }

  const operator = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCommand(["people", ...args], {
      dataDir: program.dataDir,
      databaseUrl: database.url,
    });
    assert.equal(code, 0, stderr);
    return tokenIn(stdout);
  };

  it("is refused at the sign-up of the first person", async () => {
    const token = tokenIn(await firstLink(program));
    const browser = openBrowser(program);
    const person = { email, name: "Annabelle", token };
    await assertRefused("password", (word) => browser.post("/auth/sign-up", { ...person, password: word }));
    assert.equal((await browser.post("/auth/sign-up", { ...person, password })).status, 200);
  });

  it("is refused at the sign-up with an invitation, which knows the address", async () => {
    const invited = "annabelle.lee@here.test";
    const token = await operator("invite", invited);
    const browser = openBrowser(program);
    await assertRefused("password", (word) => browser.post("/auth/sign-up", { name: "Ann", token, password: word }));
    assert.equal((await browser.post("/auth/sign-up", { name: "Ann", token, password })).status, 200);
  });

  it("is refused when the password is changed", async () => {
    const browser = openBrowser(program);
    assert.equal((await browser.post("/auth/sign-in", { email, password })).status, 200);
    await assertRefused("newPassword", (newPassword) =>
      browser.post("/auth/change-password", { currentPassword: password, newPassword }),
    );
  });

  it("is refused when the password is reset, and the link stays valid", async () => {
    const token = await operator("reset-password", email);
    const browser = openBrowser(program);
    await assertRefused("newPassword", (newPassword) => browser.post("/auth/reset-password", { token, newPassword }));
    const reset = { token, newPassword: "an altogether new one" };
    assert.equal((await browser.post("/auth/reset-password", reset)).status, 200);
  });

  it("keeps working at sign-in if it was set before", async () => {
    for (const word of Object.values(refused)) {
      await database.sql`update people_accounts set password = ${await hashPassword(word)}
        where person_id = (select id from people where email = ${email})`;
      assert.equal((await openBrowser(program).post("/auth/sign-in", { email, password: word })).status, 200, word);
    }
  });
});
