import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createSecrets } from "./sealing.ts";

const old = "a secret of thirty-two characters!!";
const next = "another secret of thirty-two chars!";
const secrets = createSecrets(old);

test("a sealed text opens only with its secret and its context", () => {
  const sealed = secrets.seal("-----BEGIN PRIVATE KEY-----", "dkim:1");
  assert.ok(!sealed.includes("PRIVATE"));
  assert.equal(secrets.open(sealed, "dkim:1"), "-----BEGIN PRIVATE KEY-----");
  assert.throws(() => secrets.open(sealed, "dkim:2"));
  assert.throws(() => createSecrets(next).open(sealed, "dkim:1"));
});

test("a changed sealed text does not open", () => {
  const sealed = secrets.seal("text", "x");
  const bytes = Buffer.from(sealed.slice(3), "base64");
  bytes[bytes.length - 1]! ^= 1;
  assert.throws(() => secrets.open(`s1.${bytes.toString("base64")}`, "x"));
  for (const text of ["", "s1.", "s3.AAAA", "s2.AAAA", `s2.xyz.${sealed.slice(3)}`])
    assert.throws(() => secrets.open(text, "x"), /unknown format/, text);
});

test("every purpose has its own key", () => {
  assert.notDeepEqual(secrets.derive("a"), secrets.derive("b"));
});

test("the formats of earlier releases stay: keys, MACs and texts without the id of their secret", () => {
  assert.equal(secrets.derive("return path v1").toString("hex"), derivedByEarlierRelease);
  assert.equal(secrets.open(sealedByEarlierRelease, "webhook 1"), "whsec_x");
  assert.match(secrets.seal("text", "x"), /^s1\./, "earlier releases may run on the same database");
});

// Made with the release before secrets could be replaced.
const derivedByEarlierRelease = "aa777449eb75aac42535a0a9182c159ed37ff2c8ef2651db4f0d2eb3cc18d6d4";
const sealedByEarlierRelease = "s1.757QDXcC13LiDO1oYJYpooLOvBWO8LJ/gTseDIjYqoHHTwo=";

describe("with two secrets", () => {
  const [oldId, nextId] = [createSecrets(old), createSecrets(next)].map((one) => one.ids()[0]!) as [string, string];
  const both = (active: string, accepted: string[], named = true) => {
    const made = createSecrets(next, old);
    made.follow({ active, accepted, named });
    return made;
  };

  test("texts of both open, and the active one seals", () => {
    const before = both(oldId, [oldId, nextId], false);
    const after = both(nextId, [nextId, oldId]);
    const texts = [secrets.seal("text", "x"), before.seal("text", "x"), after.seal("text", "x")];
    for (const text of texts) for (const one of [before, after]) assert.equal(one.open(text, "x"), "text");
    assert.equal(secrets.open(texts[1]!, "x"), "text", "a node without the new secret reads what is sealed before");
    assert.ok(texts[2]!.startsWith(after.sealPrefix()) && texts[2]!.startsWith(`s2.${nextId}.`));
    assert.throws(
      () => secrets.open(texts[2]!, "x"),
      /sealed with the secret [0-9a-f]{12}, which this node does not have/,
    );
    const alone = createSecrets(next);
    assert.equal(alone.open(texts[2]!, "x"), "text");
    assert.throws(() => alone.open(texts[1]!, "x"));
    assert.throws(() => after.open(texts[2]!.replace(nextId, oldId), "x"), "the id does not make another secret fit");
  });

  test("MACs of accepted secrets are valid, and the active one makes them", () => {
    const after = both(nextId, [nextId, oldId]);
    assert.deepEqual(after.mac("p", "text"), createSecrets(next).mac("p", "text"));
    assert.deepEqual(after.derive("p"), createSecrets(next).derive("p"));
    for (const one of [old, next]) assert.ok(after.isMac(createSecrets(one).mac("p", "text"), "p", "text"));
    assert.ok(!after.isMac(createSecrets(old).mac("q", "text"), "p", "text"));
    assert.ok(!after.isMac(Buffer.alloc(31), "p", "text"));
  });

  test("MACs of a revoked secret are invalid at once, but its texts open", () => {
    const made = both(nextId, [nextId, oldId]);
    const [mac, sealed] = [secrets.mac("p", "text"), secrets.seal("text", "x")];
    assert.ok(made.isMac(mac, "p", "text"));
    let changes = 0;
    made.onChange(() => changes++);
    made.follow({ active: nextId, accepted: [nextId], named: true });
    made.follow({ active: nextId, accepted: [nextId], named: true });
    assert.equal(changes, 1);
    assert.ok(!made.isMac(mac, "p", "text"));
    assert.equal(made.keys("p").length, 1);
    assert.equal(made.open(sealed, "x"), "text");
  });

  test("a program that lacks the database's secret seals nothing", () => {
    const made = createSecrets(old);
    made.refuse("the secret was replaced");
    assert.throws(() => made.seal("text", "x"), { name: "SecretError", message: "the secret was replaced" });
    made.follow({ active: oldId, accepted: [oldId], named: false });
    assert.equal(made.open(made.seal("text", "x"), "x"), "text");
  });

  test("new files add a secret, and never take away the active one", () => {
    const made = createSecrets(old);
    made.hold(next, old);
    assert.deepEqual(made.ids(), [oldId, nextId]);
    assert.equal(made.held()[0]!.id, nextId);
    made.hold(next);
    assert.deepEqual(made.ids(), [oldId, nextId]);
  });

  test("the same secret twice is one secret", () => {
    assert.equal(createSecrets(old, old).held().length, 1);
  });
});
