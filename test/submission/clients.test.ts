/** Mail programs and libraries send through the program with the recipes of docs/smtp.md, over STARTTLS and TLS, and show its refusals. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { dkimVerify } from "mailauth/lib/dkim/verify.js";
import PostalMime from "postal-mime";
import { makeSelfSigned } from "../../src/smtp/server/certificate.ts";
import { needs } from "../harness/foreign.ts";
import {
  invoice,
  type MailClient,
  mailClients,
  type RecipeOptions,
  type Replacements,
  runRecipe,
  sectionOf,
} from "../harness/mail-clients.ts";
import { blocksOf, root } from "../harness/pages.ts";
import { shell } from "../harness/shell.ts";
import { addSendingDomain, senderPublicKey, startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
let folder: string;
let certificate: string;
before(async () => {
  await mkdir(join(root, "test/output"), { recursive: true });
  folder = await mkdtemp(join(root, "test/output/submission-"));
  certificate = join(folder, "cert.pem");
  const keyFile = join(folder, "key.pem");
  const { cert, key } = makeSelfSigned("localhost", Date.now());
  await writeFile(certificate, cert);
  await writeFile(keyFile, key);
  testbed = await startTestbed({
    domains: ["example.com"],
    env: { POSTHORN_TLS_CERT: certificate, POSTHORN_TLS_KEY: keyFile },
  });
  await addSendingDomain(testbed.database.sql, testbed.workspaceId, "shop.example");
});
after(async () => {
  await testbed?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

async function run(client: MailClient, options: Partial<RecipeOptions>) {
  return await runRecipe(client, { program: testbed.program, folder, certificate, encryption: "STARTTLS", ...options });
}

for (const client of mailClients)
  suite(client.name, { skip: client.needs ? needs(client.needs) : false }, () => {
    for (const encryption of ["STARTTLS", "TLS"] as const)
      test(`sends with ${encryption}`, async () => {
        const at = `${client.name}-${encryption}`.replaceAll(" ", "-").toLowerCase();
        const to = `juergen-${at}@example.com`;
        const copy = `archive-${at}@example.com`;
        const changes: Replacements = [
          ["juergen@example.com", to],
          ["archive@example.com", copy],
          ["order-1042", at],
        ];
        const { code, output } = await run(client, { encryption, changes });
        assert.equal(code, 0, output);
        await assertArrived(to, copy);
      });

    test("shows why a key or a domain is refused", async () => {
      const wrong = await run(client, { changes: client.verbose, key: `ph_${client.name}_wrong_0123456789` });
      assert.notEqual(wrong.code, 0, wrong.output);
      assert.match(
        wrong.output,
        /535.{1,10}5\.7\.8 authentication failed: the user name is posthorn, the password an API key/,
      );
      const changes: Replacements = [["orders@shop.example", "orders@elsewhere.example"], ...(client.verbose ?? [])];
      const refused = await run(client, { changes });
      assert.notEqual(refused.code, 0, refused.output);
      assert.match(refused.output, /550.{1,10}5\.7\.1 elsewhere\.example/);
    });
  });

test("the page's command makes a certificate that a program serves and a client trusts", {
  skip: needs("openssl"),
}, async () => {
  const [block, ...others] = blocksOf(await sectionOf("Certificates"));
  assert.equal(others.length, 0, "run each block here");
  const directory = await mkdtemp(join(folder, "certificate-"));
  await shell(block!.text.replaceAll("mail.shop.example", "localhost"), { cwd: directory });
  const [cert, key] = [join(directory, "cert.pem"), join(directory, "key.pem")];
  const program = await testbed.startNode({ POSTHORN_TLS_CERT: cert, POSTHORN_TLS_KEY: key });
  const nodemailer = mailClients.find(({ name }) => name === "nodemailer")!;
  const { code, output } = await run(nodemailer, { program, certificate: cert });
  assert.equal(code, 0, output);
});

async function assertArrived(to: string, copy: string): Promise<void> {
  const events = await testbed.untilEvents(`the deliveries to ${to} and ${copy}`, (all) =>
    [to, copy].every((address) => all.some(({ event }) => isDelivery(event, address))),
  );
  const { emailId: id, messageId } = events.find(({ event }) => isDelivery(event, to))!.event;
  const types = events.filter(({ event }) => event.emailId === id).map(({ event }) => event.type);
  assert.deepEqual(types, ["email.delivered", "email.delivered"]);
  assert.ok(!messageId.includes(id.slice("em_".length)), "the Message-ID is Posthorn's, not the client's");
  for (const address of [to, copy]) {
    const [delivery, ...more] = testbed.sink.received(address);
    assert.equal(more.length, 0);
    const raw = delivery!.data;
    assert.match(raw.toString("latin1"), /^[\x00-\x7f]*$/);
    const { results } = await dkimVerify(raw, { resolver: async () => [[`v=DKIM1; k=rsa; p=${senderPublicKey}`]] });
    assert.equal(results[0]!.status.result, "pass");
    const parsed = await PostalMime.parse(raw);
    assert.deepEqual(parsed.from, { name: "Café Zoë", address: "orders@shop.example" });
    assert.deepEqual(
      parsed.to?.map(({ name, address }) => [name, address]),
      [["Jürgen", to]],
    );
    assert.deepEqual([parsed.cc, parsed.bcc], [undefined, undefined]);
    assert.doesNotMatch(raw.toString("latin1"), /archive-/);
    assert.equal(parsed.subject, "Your invoice from Café Zoë");
    assert.equal(parsed.text?.trim(), "Thank you, Jürgen!");
    assert.equal(parsed.messageId, messageId);
    const [attachment, ...others] = parsed.attachments;
    assert.equal(others.length, 0);
    assert.deepEqual([attachment!.filename, attachment!.mimeType], ["invoice.pdf", "application/pdf"]);
    assert.ok(invoice.equals(Buffer.from(attachment!.content as ArrayBuffer)), "the attachment has other octets");
  }
  const { email } = (await testbed.call("EmailService/GetEmail", { id })).body as { email: Record<string, unknown> };
  assert.deepEqual([email.subject, email.messageId, email.bcc], ["Your invoice from Café Zoë", messageId, [copy]]);
}

function isDelivery({ type, delivered }: { type: string; delivered?: unknown }, address: string): boolean {
  const { recipients = [] } = (delivered ?? {}) as { recipients?: string[] };
  return type === "email.delivered" && recipients.includes(address);
}
