import assert from "node:assert/strict";
import { test } from "node:test";
import { readMessage } from "../message/read.ts";
import { readBounceText } from "./bounce-text.ts";

const read = async (lines: string[], sender = "") =>
  readBounceText(await readMessage(Buffer.from(lines.join("\r\n"))), sender);

test("a server's own words name the recipient, the code and the reason", async () => {
  const found = await read([
    "From: MAILER-DAEMON@there.test",
    "Subject: failure notice",
    "",
    "Hi. This is the qmail-send program.",
    "",
    "<bob@there.test>:",
    "550 5.1.1 sorry, no mailbox here by that name",
    "",
    "--- Below this line is a copy of the message.",
    "",
    "To: somebody-else@here.test",
  ]);
  assert.equal(found.length, 1);
  assert.deepEqual([found[0]!.addresses, found[0]!.action, found[0]!.status], [["bob@there.test"], "failed", "5.1.1"]);
  assert.match(found[0]!.diagnostic, /no mailbox here by that name/);
});

test("a listed recipient is enough, and a warning is a delay", async () => {
  const exim = await read(
    ["From: a@there.test", "X-Failed-Recipients: bob@there.test, eve@there.test", "", "x"],
    "a@there.test",
  );
  assert.deepEqual(
    exim.map(({ addresses }) => addresses[0]),
    ["bob@there.test", "eve@there.test"],
  );
  const warning = await read([
    "From: Mail Delivery System <m@there.test>",
    "Subject: Delivery delayed",
    "",
    "bob@there.test",
  ]);
  assert.equal(warning[0]!.action, "delayed");
});

test("what people write about failed deliveries is no bounce, nor is an absence note with the null path", async () => {
  const about = [
    "From: Ann <ann@there.test>",
    "Subject: Re: order",
    "",
    "My parcel could not be delivered. bob@there.test",
  ];
  assert.deepEqual(await read(about, "ann@there.test"), []);
  assert.deepEqual(await read(about, ""), []);
});
