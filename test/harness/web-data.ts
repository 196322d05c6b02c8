/** A workspace with something on every page of the dashboard: what the journeys of the web look at. */
import { bring, receives } from "./inbound.ts";
import { accepted, getEmail, untilTold } from "./sending.ts";
import { until } from "./wait.ts";
import { startWebhookWorld, type WebhookWorld } from "./webhook-world.ts";
import { senderDomain } from "./world.ts";

export type WebData = { emailId: string; inboundId: string; domainId: string; webhookId: string };

export async function startWebWorld(): Promise<WebhookWorld> {
  // A page that was slow must still meet the interval in which it may not check again.
  const env = { POSTHORN_DELIVERY: "capture", POSTHORN_VERIFY_INTERVAL_MS: "600000" };
  return await startWebhookWorld({ env });
}

export async function fill(world: WebhookWorld): Promise<WebData> {
  const webhook = await world.createWebhook({
    description: "The shop's own endpoint",
    eventTypes: ["email.delivered"],
  });
  const added = await world.call("DomainService/AddDomain", { domain: "shop.example.com" });
  const domainId = (added.body.domain as { id: string }).id;
  await world.call("DomainService/VerifyDomain", { id: domainId });
  const names = ["delivered", "bounced", "delayed", "complained", "replied", "full"];
  const emailId = await accepted(world, {
    from: "The Shop <orders@sender.test>",
    to: names.map((name) => `${name}@there.test`),
    subject: "Your order 4711 is on its way",
    body: "Dear customer,\n\nyour order is on its way.\n\nThe Shop",
    html: '<h1>On its way</h1><p>Dear customer, <b>your order</b> is on its way.</p><img src="cid:logo" alt="logo"><img src="https://pictures.test/open.png" alt="">',
    metadata: { order: "4711", customer: "Ann Smith" },
    attachments: [
      { filename: "logo.png", contentType: "image/png", contentId: "logo", base64Content: onePixel },
      { filename: "invoice.txt", contentType: "text/plain", base64Content: Buffer.from("1 horn").toString("base64") },
    ],
    async: true,
  });
  const subjects = ["Welcome aboard", "Reset your password", "Invoice for June", "Your weekly report", "We miss you"];
  for (const [place, subject] of subjects.entries())
    await accepted(world, { to: [`${place === 1 ? "bounced" : "delivered"}@customer${place}.test`], subject });
  await accepted(world, {
    subject: "Scheduled for tomorrow",
    scheduledAt: new Date(Date.now() + 86_400_000).toISOString(),
  });
  for (const [address, note] of [
    ["gone@there.test", "left the company"],
    ["quiet@other.test", "asked to be left alone"],
  ])
    await world.call("SuppressionService/AddSuppression", { address, note });
  await untilTold(world, emailId, "email.replied");
  await world.untilDeliveries("a delivery", webhook.id, (all) =>
    all.some(({ status }) => status.endsWith("_DELIVERED")),
  );
  await answer(world, emailId);
  const inboundId = await until("an inbound message", async () => {
    const { body } = await world.call("InboundService/ListInbound", {});
    return (body.data as { id: string }[])[0]?.id;
  });
  return { emailId, inboundId, domainId, webhookId: webhook.id };
}

/** Mail that arrives by SMTP, as an answer to one of ours. */
async function answer(world: WebhookWorld, emailId: string): Promise<void> {
  await receives(world, senderDomain);
  const { messageId } = await getEmail(world, emailId);
  const raw = [
    "From: Ann Smith <ann@there.test>",
    "To: orders@sender.test",
    "Subject: Re: Your order 4711 is on its way",
    "Message-ID: <answer@there.test>",
    `In-Reply-To: ${messageId}`,
    "MIME-Version: 1.0",
    'Content-Type: multipart/mixed; boundary="b"',
    "",
    "--b",
    'Content-Type: multipart/alternative; boundary="c"',
    "",
    "--c",
    "Content-Type: text/plain; charset=utf-8",
    "",
    "When will it arrive?",
    "",
    "On Monday, The Shop wrote:",
    "> your order is on its way.",
    "--c",
    "Content-Type: text/html; charset=utf-8",
    "",
    "<p>When will it <b>arrive</b>?</p>",
    "--c--",
    "--b",
    'Content-Type: text/plain; name="address.txt"',
    'Content-Disposition: attachment; filename="address.txt"',
    "",
    "Horn Lane 1",
    "--b--",
    "",
  ].join("\r\n");
  await bring(Object.assign(world, { smtpPort: world.program.ports.smtp! }), { to: "orders@sender.test", raw });
}

const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
