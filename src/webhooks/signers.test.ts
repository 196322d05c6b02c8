import assert from "node:assert/strict";
import { test } from "node:test";
import { createSigners } from "./signers.ts";

const webhook = { workspaceId: "w", webhookId: "a" };
const signerOf = (url: string) => ({ workspaceId: "w", id: "a", url, sealedSecrets: [] });

test("a signer is used while it is fresh, then read again, once for all rows that wait", async () => {
  let nowMs = 0;
  let reads = 0;
  const signers = createSigners({ nowMs: () => nowMs, read: async () => signerOf(`read ${++reads}`) });
  signers.note({ webhookId: "a", signer: signerOf("leased") });
  assert.equal((await signers.of(webhook))!.url, "leased");
  nowMs = 1000;
  const both = await Promise.all([signers.of(webhook), signers.of(webhook)]);
  assert.deepEqual(
    both.map((signer) => signer!.url),
    ["read 1", "read 1"],
  );
  signers.note({ webhookId: "a", signer: undefined });
  assert.equal(await signers.of(webhook), undefined, "the webhook was disabled");
  signers.forget("a");
  assert.equal((await signers.of(webhook))!.url, "read 2");
});

test("a read that fails is repeated", async () => {
  let fails = true;
  const read = async () => {
    if (fails) throw new Error("the database is away");
    return signerOf("read");
  };
  const signers = createSigners({ nowMs: () => 0, read });
  await assert.rejects(signers.of(webhook), /away/);
  fails = false;
  assert.equal((await signers.of(webhook))!.url, "read");
});
