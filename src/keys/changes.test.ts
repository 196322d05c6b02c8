import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { changedFields, updateEntry } from "./changes.ts";
import type { Key } from "./store.ts";

const key: Key = {
  id: "0190a000-0000-7000-8000-000000000001",
  workspaceId: "0190a000-0000-7000-8000-000000000002",
  name: "CI",
  prefix: "ph_abcdefgh",
  permission: "send",
  test: false,
  createdAt: new Date(0),
  lastUsedAt: null,
  lastUsedAddress: null,
  revokedAt: null,
  expiresAt: null,
  scopes: null,
  domains: ["a.test"],
  recipients: null,
  addresses: null,
  makerPersonId: null,
  makerKeyId: null,
  makerName: null,
  rotatedFrom: null,
};

describe("the audit entry of an update", () => {
  it("names the fields that differ, as the API spells them", () => {
    const after = {
      ...key,
      name: "Nightly",
      addresses: ["192.0.2.0/24"],
      expiresAt: new Date(1),
      lastUsedAt: new Date(),
    };
    assert.deepEqual(changedFields(key, after), ["name", "allowedAddresses", "expiresAt"]);
    assert.deepEqual(changedFields(key, { ...key, domains: ["a.test", "b.test"] }), ["domains"]);
    assert.deepEqual(changedFields(key, { ...key, recipients: ["x.test"], scopes: ["send"] }), [
      "scopes",
      "allowedRecipients",
    ]);
  });

  it("is missing when nothing changed, or when there is no such key", () => {
    assert.equal(updateEntry(key, { ...key, expiresAt: null }), undefined);
    assert.equal(updateEntry(undefined, undefined), undefined);
    const entry = updateEntry(key, { ...key, name: "Other" });
    assert.deepEqual([entry?.action, entry?.target?.id, entry?.fields], ["key.updated", key.id, ["name"]]);
  });
});
