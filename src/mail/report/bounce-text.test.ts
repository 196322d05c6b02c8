import assert from "node:assert/strict";
import { test } from "node:test";
import { readMessage } from "../message/read.ts";
import { readBounceText } from "./bounce-text.ts";

const read = async (lines: string[], sender = "") =>
  readBounceText(await readMessage(Buffer.from(lines.join("\r\n"))), sender);

test("the recipient, the status code and the reason are read from the server's text", async () => {
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

test("X-Failed-Recipients is sufficient for a bounce, and a warning is a delay", async () => {
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

test("a person's mail about a failed delivery is not a bounce, even with a null return path", async () => {
  const about = [
    "From: Ann <ann@there.test>",
    "Subject: Re: order",
    "",
    "My parcel could not be delivered. bob@there.test",
  ];
  assert.deepEqual(await read(about, "ann@there.test"), []);
  assert.deepEqual(await read(about, ""), []);
});
