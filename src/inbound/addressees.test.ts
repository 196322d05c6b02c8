import assert from "node:assert/strict";
import { test } from "node:test";
import { createPostmaster } from "./addressees.ts";

test("postmaster of the server is the operator's, in any case and with or without a domain", () => {
  const postmasterOf = createPostmaster({ workspaceId: "first", hostname: "MX.example.com", zone: "mail.example.com" });
  const addressOf = (text: string) => postmasterOf(text)?.address;
  assert.equal(addressOf("postmaster"), "postmaster@mail.example.com");
  assert.equal(addressOf("PostMaster"), "postmaster@mail.example.com");
  assert.equal(addressOf("Postmaster@mx.EXAMPLE.com"), "postmaster@mx.example.com");
  assert.equal(addressOf("postmaster@feedback.mail.example.com"), "postmaster@feedback.mail.example.com");
  assert.equal(postmasterOf("postmaster")?.domain.workspaceId, "first");
  for (const other of [
    "postmaster@customer.test",
    "postmasters",
    "a@mail.example.com",
    "postmaster@mail.example.com@x",
    "",
  ])
    assert.equal(addressOf(other), undefined, other);
});
