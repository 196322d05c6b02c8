import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Problem } from "../ops/problem.ts";
import { createHashTurns, hashPassword, judgePassword, verifyPassword } from "./password.ts";

it("hashes every password with its own salt, and verifies only the right one", async () => {
  const [one, two] = await Promise.all([hashPassword("a long password"), hashPassword("a long password")]);
  assert.notEqual(one, two);
  assert.equal(await verifyPassword(one, "a long password"), true);
  assert.equal(await verifyPassword(one, "a long passwore"), false);
});

describe("the turns of hashing", () => {
  /** Hashes that run until `end` is called. `order` has the client of each in the order in which they began. */
  function startHashes() {
    const turns = createHashTurns();
    const order: string[] = [];
    const running: (() => void)[] = [];
    const hash = (address: string) =>
      turns.run(address, () => {
        order.push(address);
        return new Promise<void>((resolve) => running.push(resolve));
      });
    const end = async () => {
      do {
        await new Promise(setImmediate);
        running.shift()?.();
        await new Promise(setImmediate);
      } while (running.length > 0);
    };
    return { hash, end, order };
  }
  const isRefusal = (error: unknown) =>
    error instanceof Problem && error.code === "resource_exhausted" && (error.retryAfterMs ?? 0) > 0;

  it("a client that floods is refused beyond its share, and the next client has the next turn", async () => {
    const { hash, end, order } = startHashes();
    const flood = Array.from({ length: 40 }, () => hash("192.0.2.1"));
    const other = hash("198.51.100.7");
    const results = Promise.allSettled(flood);
    await end();
    const refused = (await results).filter((one) => one.status === "rejected");
    assert.equal(refused.length, 22, "two run, sixteen wait");
    assert.ok(refused.every((one) => isRefusal(one.reason)));
    await other;
    assert.ok(order.indexOf("198.51.100.7") <= 4, order.join());
  });

  it("the addresses of one IPv6 site are one client", async () => {
    const { hash, end } = startHashes();
    const results = Promise.allSettled(Array.from({ length: 40 }, (_, i) => hash(`2001:db8:0:${i.toString(16)}::1`)));
    await end();
    assert.equal((await results).filter((one) => one.status === "rejected").length, 22);
  });

  it("a flood from many clients leaves every new client one place", async () => {
    const { hash, end, order } = startHashes();
    const results = Promise.allSettled(
      Array.from({ length: 20 }, (_, i) => Array.from({ length: 20 }, () => hash(`192.0.2.${i}`))).flat(),
    );
    const other = [hash("198.51.100.7"), hash("198.51.100.7")];
    const mine = Promise.allSettled(other);
    await end();
    assert.deepEqual(
      (await mine).map(({ status }) => status),
      ["fulfilled", "rejected"],
    );
    assert.ok(order.indexOf("198.51.100.7") <= 25, "after one hash of every other client");
    assert.ok((await results).some(({ status }) => status === "rejected"));
  });
});

describe("a password", () => {
  it("of an earlier release matches its hash", async () => {
    // Made by better-auth 1.7.7.
    const hash =
      "e00b6fc59539232eba268c338d9fc51a:83bc24584cea4ed9a093ffe037c99abfd8a023d64279255bc117c4aca28401be8925ae9e4a0013941d196af23340d4056c5a706a6b73ea9c685ea1479c5a33e6";
    assert.equal(await verifyPassword(hash, "Grüße aus Köln 1"), true);
    assert.equal(await verifyPassword(hash, "Gru\u0308ße aus Köln 1"), true, "typed with a combining character");
    assert.equal(await verifyPassword(hash, "Grüße aus Köln 2"), false);
  });

  it("matches only its own hash, and no hash at all matches nothing", async () => {
    const hash = await hashPassword("correct horse battery");
    assert.equal(await verifyPassword(hash, "correct horse battery"), true);
    for (const wrong of [undefined, "", ":", `${hash}00`, hash.slice(0, -2)])
      assert.equal(await verifyPassword(wrong, "correct horse battery"), false, String(wrong));
  });
});

describe("a new password", () => {
  const judge = async (password: string, email?: string) =>
    (await judgePassword(password, { field: "password", email })).map(({ description }) => description);

  it("has 10 to 128 characters of any kind", async () => {
    for (const word of [`${"x".repeat(9)}y`, "xy".repeat(64), "pass word ünï", `${"🎺".repeat(9)}🎷`])
      assert.deepEqual(await judge(word), []);
    for (const word of ["", "x".repeat(9), "🎺".repeat(9), "x".repeat(129), `${"x".repeat(10)}\ud800`])
      assert.equal((await judge(word)).length, 1, JSON.stringify(word));
  });

  it("does not repeat one character", async () => {
    for (const word of ["a".repeat(10), "🎺".repeat(10), " ".repeat(128)])
      assert.match((await judge(word)).join(), /^repeats one character: choose/, word);
  });

  it("is neither the address nor its local part, in any case", async () => {
    const email = "annabelle.lee@there.test";
    for (const word of [email, "Annabelle.Lee@There.test", "annabelle.lee", "ANNABELLE.LEE"])
      assert.deepEqual(await judge(word, email), ["must differ from your address: choose another password"]);
    assert.deepEqual(await judge("annabelle.lee@here.test", email), []);
    assert.deepEqual(await judge(email, undefined), []);
  });

  it("is not on the list of common passwords", async () => {
    for (const word of ["qwertyuiop", "Password123!"])
      assert.match((await judge(word)).join(), /^is too common, .*: choose/);
  });
});
