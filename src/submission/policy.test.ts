import assert from "node:assert/strict";
import { test } from "node:test";
import type { Caller } from "../http/caller.ts";
import type { Log } from "../ops/log.ts";
import { createSubmission } from "./policy.ts";

const caller: Caller = { workspaceId: "w", keyId: "k", permission: "send", test: false };
const client = { ip: "127.0.0.1", helo: "x", tls: undefined };
const from = "From: news@shop.test\r\n";

/** Where a message is prepared. */
async function placeOf(message: string): Promise<string> {
  const { policy } = createSubmission({
    log: {} as Log,
    logins: { logIn: async () => caller, check: async () => caller },
    callLimit: { take() {} },
    accept: { acceptSubmitted: async () => ({ id: "019a", messageId: "<a@b>", repeated: false }) },
    prepareLarge: async () => ({ reply: "thread" }),
    allowsPlaintext: () => true,
    sessions: { total: 1, perOwner: 1 },
  });
  const account = { owner: "w", login: { user: "posthorn", password: "k" } };
  const recipients = ["ann@there.test"];
  const reply = await policy.message({ client, account, sender: "", recipients, message: Buffer.from(message) });
  return reply === "thread" ? "thread" : reply.slice(0, 3);
}

test("only messages that are cheap to read are prepared on the event loop", async () => {
  const parts = (n: number) => "--b\r\nContent-Type: text/plain\r\n\r\ntext\r\n".repeat(n);
  const multipart = `${from}Content-Type: multipart/mixed; boundary=b\r\n\r\n`;
  for (const [message, place] of [
    [`${from}\r\n${"text\r\n".repeat(10_000)}`, "250"],
    [`${multipart}${parts(5)}--b--\r\n`, "250"],
    [`${from}\r\nGrüße\r\n`, "250"],
    [`${from}\r\n${"text\r\n".repeat(12_000)}`, "thread"],
    [`${from}\r\n${"Grüße\r\n".repeat(3_000)}`, "thread"],
    [`${from}To: ${"a:".repeat(400)}\r\n ${`${"a:".repeat(400)}\r\n `.repeat(12)}b\r\n\r\ntext\r\n`, "thread"],
    [`${multipart}${parts(900)}--b--\r\n`, "thread"],
  ] as const)
    assert.equal(await placeOf(message), place, message.slice(0, 80));
});
