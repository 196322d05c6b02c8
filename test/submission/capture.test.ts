/** In capture mode, mail programs on the same machine send without a certificate, as to Mailpit: the recipes of docs/smtp.md without TLS. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { needs } from "../harness/foreign.ts";
import { mailClients, runRecipe, sectionOf } from "../harness/mail-clients.ts";
import { root } from "../harness/pages.ts";
import { submit } from "../harness/submission.ts";
import { senderDomain, startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
let folder: string;
before(async () => {
  await mkdir(join(root, "test/output"), { recursive: true });
  folder = await mkdtemp(join(root, "test/output/submission-"));
  testbed = await startTestbed({ env: { POSTHORN_DELIVERY: "capture" } });
});
after(async () => {
  await testbed?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

test("a client that verifies no certificate may use STARTTLS, too", async () => {
  const { id } = await submit(testbed, { from: `news@${senderDomain}`, to: "ann@example.com", text: "text" });
  assert.match(id, /^em_/);
});

test("the page names each setting that the recipes need without TLS, besides leaving out theirs", async () => {
  const page = await sectionOf("Instead of Mailpit");
  for (const setting of ["ignoreTLS: true", 'openssl_verify_mode: "none"', "?verify_peer=0", "auth plain"]) {
    assert.ok(
      mailClients.some(({ plain }) => plain.some(([, to]) => to.includes(setting))),
      `unused: ${setting}`,
    );
    assert.ok(page.includes(setting), setting);
  }
});

for (const client of mailClients) {
  const skip = client.needs ? needs(client.needs) : false;
  test(`${client.name} sends without TLS and without a certificate`, { skip }, async () => {
    const to = `${client.name.replaceAll(" ", "-").toLowerCase()}@example.com`;
    const { code, output } = await runRecipe(client, {
      program: testbed.program,
      folder,
      encryption: "none",
      changes: [
        ["shop.example", senderDomain],
        ["juergen@example.com", to],
      ],
    });
    assert.equal(code, 0, output.slice(-2000));
    const delivered = await testbed.untilEvents(`the captured email to ${to}`, (all) =>
      all.some(({ event }) => (event.delivered as { recipients: string[] } | undefined)?.recipients.includes(to)),
    );
    assert.ok(delivered.every(({ event }) => event.type === "email.delivered"));
  });
}
