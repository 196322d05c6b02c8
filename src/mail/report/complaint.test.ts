import assert from "node:assert/strict";
import { test } from "node:test";
import { readMessage } from "../message/read.ts";
import { readComplaint } from "./complaint.ts";

const report = async (fields: string[], returned: string[] = []) =>
  readComplaint(
    await readMessage(
      Buffer.from(
        [
          ...["From: fbl@there.test", "Content-Type: multipart/report; report-type=feedback-report; boundary=b", ""],
          ...["--b", "Content-Type: message/feedback-report", "", ...fields, ""],
          ...["--b", "Content-Type: message/rfc822", "", ...returned, "", "Hello", "--b--", ""],
        ].join("\r\n"),
      ),
    ),
  );

const token = "a2".repeat(26);

test("an abuse report yields its type, the recipients, the arrival time and the return paths", async () => {
  const found = await report(
    [
      ...[
        "Feedback-Type: abuse",
        "User-Agent: fbl/1.0",
        "Version: 1",
        `Original-Mail-From: <rp-${token}@bounce.here.test>`,
      ],
      ...[
        "Original-Rcpt-To: <anna@there.test>",
        "Removal-Recipient: anna@there.test",
        "Arrival-Date: Mon, 16 Nov 2026 06:00:00 +0000",
      ],
    ],
    [`Return-Path: <RP-${token.toUpperCase()}@bounce.here.test>`, "Message-ID: <1@here.test>"],
  );
  assert.deepEqual(found, {
    kind: "complaint",
    feedbackType: "abuse",
    userAgent: "fbl/1.0",
    arrivedAt: "2026-11-16T06:00:00.000Z",
    recipients: ["anna@there.test", "anna@there.test"],
    originalMessageId: "<1@here.test>",
    returnPaths: [`rp-${token}`],
  });
});

test("the token in the field of the copy comes first, then the return path of the copy, then those of other fields", async () => {
  const [copy, path, received, sender] = ["b", "c", "d", "e"].map((letter) => `rp-${letter.repeat(55)}`);
  const found = await report(
    ["Feedback-Type: abuse", `Original-Mail-From: <${sender}@bounce.here.test>`],
    [
      `Received: from x (envelope-from <srs0=${received}@bounce.here.test>)`,
      `Return-Path: <${path!.toUpperCase()}@bounce.here.test>`,
      `x-posthorn-copy: ${copy}`,
    ],
  );
  assert.deepEqual(found?.returnPaths, [copy, path, sender, received]);
});

test("a report with nearly no fields is still a complaint, and other mail is not", async () => {
  const bare = await report(["Version: 1"]);
  assert.deepEqual(bare, {
    kind: "complaint",
    feedbackType: "abuse",
    userAgent: "",
    arrivedAt: undefined,
    recipients: [],
    originalMessageId: "",
    returnPaths: [],
  });
  assert.equal(readComplaint(await readMessage(Buffer.from("From: a@b.test\r\n\r\nHi\r\n"))), undefined);
});

test("implausible dates, invalid types and long user agents are dropped or cut", async () => {
  for (const date of ["yesterday", "1 Jan 12026 00:00:00 +0000", "1 Jan 1950 00:00:00 +0000"])
    assert.equal((await report([`Arrival-Date: ${date}`]))?.arrivedAt, undefined, date);
  const odd = await report([
    `Feedback-Type: <b>${"x".repeat(99)}`,
    `User-Agent: ${"y".repeat(5000)}`,
    `X: rp-${"1".repeat(52)}@here.test`,
  ]);
  assert.deepEqual([odd?.feedbackType, odd?.userAgent.length, odd?.returnPaths], ["abuse", 200, []]);
});
