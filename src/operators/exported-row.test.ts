import assert from "node:assert/strict";
import { test } from "node:test";
import { exportedRow, hasTexts, withoutTexts } from "./exported-row.ts";

const id = "01a1eadb-467c-716c-af37-af93868a0ae9";

test("fields are in camelCase and ids have their prefix", () => {
  const row = { workspace_id: id, id, parent_email_id: null, size_bytes: 3, metadata: { some_key: 1 } };
  assert.deepEqual(exportedRow("emails", row), {
    workspaceId: `ws_${id}`,
    id: `em_${id}`,
    parentEmailId: null,
    sizeBytes: 3,
    metadata: { some_key: 1 },
  });
  assert.equal(exportedRow("reports", { id }).id, `rep_${id}`);
  assert.equal(exportedRow("owner_mails", { id }).id, id);
});

test("the actor and the target of an audit entry say what they are", () => {
  const entry = { id: 7, actor: "key", actor_id: id, target: "domain", target_id: id };
  assert.deepEqual(exportedRow("audit_entries", entry), {
    id: 7,
    actor: "key",
    actorId: `key_${id}`,
    target: "domain",
    targetId: `dom_${id}`,
  });
  assert.equal(
    exportedRow("audit_entries", { actor: "service", actor_id: null, target: null, target_id: null }).actorId,
    null,
  );
});

test("the texts of a message can be left out of its row and of its event", () => {
  const reply = { id, subject: "Re: x", body: "b", new_text: "n", html: "h" };
  assert.deepEqual(withoutTexts(reply), { id, subject: "Re: x" });
  const payload = { from: "a@there.test", body: "b", newText: "n", html: "h" };
  assert.deepEqual(withoutTexts({ id, payload }), { id, payload: { from: "a@there.test" } });
  assert.deepEqual(
    [hasTexts("inbound_messages", reply), hasTexts("events", { payload }), hasTexts("events", { payload: {} })],
    [true, true, false],
  );
});
