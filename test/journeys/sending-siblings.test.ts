import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { accepted, untilFinished } from "../harness/sending.ts";
import { mailDomain, startWorld, type World } from "../harness/world.ts";

let world: World;
before(async () => {
  world = await startWorld();
});
after(async () => await world.stop());

test("emails to many destinations each, many at once: every destination gets the same whole message, at the first attempt", async () => {
  const domains = Array.from({ length: 8 }, (_, i) => `place-${i}.test`);
  for (const domain of domains) mailDomain(world.dns, domain);
  const base64Content = randomBytes(30_000).toString("base64");
  const attachments = [{ filename: "a.bin", contentType: "application/octet-stream", base64Content }];
  const ids = await Promise.all(
    Array.from({ length: 15 }, (_, i) =>
      accepted(world, { to: domains.map((domain) => `r${i}@${domain}`), attachments, async: true }),
    ),
  );
  for (const [i, id] of ids.entries()) {
    const { status, recipients } = await untilFinished(world, id);
    assert.equal(status, "EMAIL_STATUS_SENT");
    assert.deepEqual([...new Set(recipients.map(({ attempts }) => attempts))], [1]);
    const copies = domains.map((domain) => world.sink.received(`r${i}@${domain}`));
    assert.ok(copies.every((list) => list.length === 1));
    for (const [copy] of copies) assert.deepEqual(copy!.raw, copies[0]![0]!.raw);
  }
});
