import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { createSecrets } from "./sealing.ts";
import {
  beginReplacement,
  checkSecret,
  finishReplacement,
  judgeSecrets,
  lockSecretState,
  noteReplacement,
  type Replacement,
  readSecretState,
} from "./secret-state.ts";

const texts = {
  a: "the first secret of this database, long",
  b: "the second secret of this database",
  c: "the third one",
};
type Name = keyof typeof texts;
const heldOf = (names: string) => createSecrets(...(names.split("").map((n) => texts[n as Name]) as [string])).held();
const idOf = (name: Name) => heldOf(name)[0]!.id;

describe("the secrets that a program has", () => {
  const from = (name: Name, to: Name, more: Partial<Replacement> = {}): Replacement => ({
    from: idOf(name),
    to: idOf(to),
    retired: name === "a" ? [idOf("a")] : [idOf("a"), idOf("b")],
    begunAt: "2027-01-31T00:00:00.000Z",
    ...more,
  });
  const sealed = { sealedAt: "2027-01-31T00:01:00.000Z" };
  const first = (replacement?: Replacement) => ({ check: heldOf("a")[0]!.checks[0], replacement });
  const second = (more?: Partial<Replacement>) => ({
    check: heldOf("b")[0]!.checks[1],
    replacement: from("a", "b", more),
  });

  const third = { check: heldOf("c")[0]!.checks[1], replacement: from("b", "c", sealed) };

  /** POSTHORN_SECRET, then POSTHORN_SECRET_PREVIOUS. Expected: the active one, then the others whose tokens are valid; or the problem. */
  const cases: [what: string, held: string, state: Parameters<typeof judgeSecrets>[1], expected: string | RegExp][] = [
    ["the database's secret", "a", first(), "a"],
    ["another secret", "b", first(), /^POSTHORN_SECRET is not the one this database was created with/],
    ["the next secret, prepared", "ba", first(), "ab"],
    ["a previous secret that is of no use", "ac", first(), "a"],
    ["two other secrets", "bc", first(), /^Neither POSTHORN_SECRET nor POSTHORN_SECRET_PREVIOUS/],
    ["both, after the replacement began", "ba", second(), "ba"],
    [
      "only the new one, before everything is sealed",
      "b",
      second(),
      /^The secret .* is being replaced.*POSTHORN_SECRET_PREVIOUS/,
    ],
    ["only the old one, after the replacement began", "a", second(), /^POSTHORN_SECRET is a secret that was replaced/],
    ["both in the wrong order", "ab", second(), /^POSTHORN_SECRET is a secret that was replaced/],
    ["both, after everything was sealed", "ba", second(sealed), "ba"],
    ["only the new one, after everything was sealed", "b", second(sealed), "b"],
    ["both, after the old one was revoked", "ba", second({ revokedAt: "2027-01-31T00:00:00.000Z" }), "b"],
    ["a third one, prepared", "cb", second(sealed), "bc"],
    ["a third one, before the second is finished", "cb", second(), /^The secret .* is being replaced/],
    ["the first one again", "ab", second(sealed), /^POSTHORN_SECRET is a secret that was replaced/],
    ["a third one and the wrong previous one", "ca", second(sealed), /^Neither/],
    ["a retired one as the previous one", "ca", third, "c"],
  ];
  for (const [what, names, state, expected] of cases)
    it(`${what}: ${expected instanceof RegExp ? "refused" : "accepted"}`, () => {
      const verdict = judgeSecrets(heldOf(names), state);
      if (expected instanceof RegExp) assert.match("problem" in verdict ? verdict.problem : "no problem", expected);
      else {
        assert.ok("use" in verdict, JSON.stringify(verdict));
        const [active, ...others] = expected.split("").map((name) => idOf(name as Name));
        assert.equal(verdict.use.active, active);
        assert.deepEqual(new Set(verdict.use.accepted), new Set([active, ...others]));
        assert.equal(verdict.use.named, state.replacement !== undefined);
      }
    });
});

describe("the state in the database", () => {
  let database: TestDatabase;
  before(async () => {
    database = await createTestDatabase();
  });
  after(() => database?.drop());
  beforeEach(() => database.sql`delete from settings where name in ('secret_check', 'secret_replacement')`);

  const begin = (revoke = false) =>
    database.sql.begin(async (tx) => {
      const { replacement: earlier } = await lockSecretState(tx);
      await beginReplacement(tx, { from: idOf("a"), to: heldOf("b")[0]!, revoke, earlier });
    });

  it("has the check value of earlier releases until the first replacement, and then one that they do not know", async () => {
    const { sql } = database;
    await checkSecret(sql, createSecrets(texts.a));
    assert.equal(
      (await readSecretState(sql)).check,
      createSecrets(texts.a).mac("secret check", "posthorn").toString("base64"),
    );
    await begin();
    const { check } = await readSecretState(sql);
    for (const one of [texts.a, texts.b])
      assert.notEqual(check, createSecrets(one).mac("secret check", "posthorn").toString("base64"));
    const both = createSecrets(texts.b, texts.a);
    await checkSecret(sql, both);
    assert.deepEqual(both.ids(), [idOf("b"), idOf("a")]);
    await assert.rejects(checkSecret(sql, createSecrets(texts.a)), { name: "SecretError" });
    await assert.rejects(checkSecret(sql, createSecrets(texts.b)), { name: "SecretError" });
  });

  it("notes each time once, and only for its own replacement", async () => {
    const { sql } = database;
    await checkSecret(sql, createSecrets(texts.a));
    await begin();
    await noteReplacement(sql, idOf("c"), "revokedAt");
    await finishReplacement(sql, idOf("b"), { tokensForMs: 86_400_000, unreadable: 0 });
    const { replacement } = await readSecretState(sql);
    assert.equal(replacement!.revokedAt, undefined);
    assert.deepEqual([replacement!.from, replacement!.to, replacement!.retired], [idOf("a"), idOf("b"), [idOf("a")]]);
    for (const time of [replacement!.begunAt, replacement!.sealedAt!, replacement!.validUntil!])
      assert.equal(new Date(time).toISOString(), time);
    assert.ok(Math.abs(Date.parse(replacement!.validUntil!) - Date.parse(replacement!.sealedAt!) - 86_400_000) < 10);
    await finishReplacement(sql, idOf("b"), { tokensForMs: 0, unreadable: 5 });
    assert.deepEqual((await readSecretState(sql)).replacement, replacement);
    await noteReplacement(sql, idOf("b"), "revokedAt");
    assert.ok((await readSecretState(sql)).replacement!.revokedAt);
  });

  it("a node that starts waits for a replacement that is being committed", async () => {
    const { sql } = database;
    await checkSecret(sql, createSecrets(texts.a));
    let read: Promise<unknown> | undefined;
    await sql.begin(async (tx) => {
      await lockSecretState(tx);
      read = readSecretState(sql, { locked: true }).then((state) => state.replacement?.to);
      await beginReplacement(tx, { from: idOf("a"), to: heldOf("b")[0]!, revoke: true, earlier: undefined });
    });
    assert.equal(await read, idOf("b"));
  });
});
