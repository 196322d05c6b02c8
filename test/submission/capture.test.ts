/** In capture mode, mail programs on the same machine send without a certificate, as to Mailpit: the recipes of docs/smtp.md without TLS. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeSelfSigned } from "../../src/smtp/server/certificate.ts";
import { needs } from "../harness/foreign.ts";
import { mailClients, runRecipe } from "../harness/mail-clients.ts";
import { root } from "../harness/pages.ts";
import { dialSmtp } from "../harness/smtp-client.ts";
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

async function extensionsOf(port: number): Promise<string> {
  const client = dialSmtp(port);
  try {
    await client.reply();
    return (await client.command("EHLO x"))!;
  } finally {
    client.socket.destroy();
  }
}

test("STARTTLS is offered only with a certificate, and accepted in any case", async () => {
  const [certificate, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const { cert, key } = makeSelfSigned("localhost", Date.now());
  await writeFile(certificate, cert);
  await writeFile(keyFile, key);
  assert.doesNotMatch(await extensionsOf(testbed.program.ports.submission!), /STARTTLS/);
  const { id } = await submit(testbed, { from: `news@${senderDomain}`, to: "ann@example.com", text: "text" });
  assert.match(id, /^em_/);
  const node = await testbed.startNode({ POSTHORN_TLS_CERT: certificate, POSTHORN_TLS_KEY: keyFile });
  assert.match(await extensionsOf(node.ports.submission!), /STARTTLS/);
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
