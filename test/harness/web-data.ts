/** Fills a workspace with data for every page of the dashboard, for the tests in test/web. */
import { deliverInbound, enableReceiving, feedbackAddress } from "./inbound.ts";
import { storeReports } from "./report-data.ts";
import { accepted, getEmail, untilEvent } from "./sending.ts";
import { senderDomain } from "./testbed.ts";
import { until } from "./wait.ts";
import { startWebhookTestbed, type WebhookTestbed } from "./webhook-testbed.ts";

export type WebData = { emailId: string; inboundId: string; domainId: string; webhookId: string };

export async function startWebTestbed(): Promise<WebhookTestbed> {
  // Long, so that even a slow page load falls into the interval in which a domain may not be checked again.
  const env = { POSTHORN_DELIVERY: "capture", POSTHORN_VERIFY_INTERVAL_MS: "600000" };
  return await startWebhookTestbed({ env });
}

export async function fill(testbed: WebhookTestbed): Promise<WebData> {
  const webhook = await testbed.createWebhook({
    description: "The shop's own endpoint",
    eventTypes: ["email.delivered"],
  });
  const added = await testbed.call("DomainService/AddDomain", { domain: "shop.example.com" });
  const domainId = (added.body.domain as { id: string }).id;
  await testbed.call("DomainService/VerifyDomain", { id: domainId });
  await storeReports(testbed.database.sql, "shop.example.com");
  const names = ["delivered", "bounced", "delayed", "complained", "replied", "full"];
  const emailId = await accepted(testbed, {
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
  for (const [i, subject] of subjects.entries())
    await accepted(testbed, { to: [`${i === 1 ? "bounced" : "delivered"}@customer${i}.test`], subject });
  await accepted(testbed, {
    subject: "Scheduled for tomorrow",
    scheduledAt: new Date(Date.now() + 86_400_000).toISOString(),
  });
  for (const [address, note] of [
    ["gone@there.test", "left the company"],
    ["quiet@other.test", "asked to be left alone"],
  ])
    await testbed.call("SuppressionService/AddSuppression", { address, note });
  await untilEvent(testbed, emailId, "email.replied");
  await testbed.untilDeliveries("a delivery", webhook.id, (all) =>
    all.some(({ status }) => status.endsWith("_DELIVERED")),
  );
  await deliverReply(testbed, emailId);
  await deliverComplaint(testbed, emailId);
  const inboundId = await until("an inbound message", async () => {
    const { body } = await testbed.call("InboundService/ListInbound", {});
    return (body.data as { id: string }[])[0]?.id;
  });
  return { emailId, inboundId, domainId, webhookId: webhook.id };
}

/** Delivers a reply to one of our emails by SMTP. */
async function deliverReply(testbed: WebhookTestbed, emailId: string): Promise<void> {
  await enableReceiving(testbed, senderDomain);
  const { messageId } = await getEmail(testbed, emailId);
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
  await deliverInbound(Object.assign(testbed, { smtpPort: testbed.program.ports.smtp! }), {
    to: "orders@sender.test",
    raw,
  });
}

/** Delivers a complaint that does not prove which recipient it is about. */
async function deliverComplaint(testbed: WebhookTestbed, emailId: string): Promise<void> {
  const { messageId } = await getEmail(testbed, emailId);
  const raw = [
    "From: reports@there.test",
    'Content-Type: multipart/report; report-type=feedback-report; boundary="b"',
    "",
    "--b",
    "Content-Type: message/feedback-report",
    "",
    "Feedback-Type: abuse",
    "Original-Rcpt-To: delivered@there.test",
    "--b",
    "Content-Type: text/rfc822-headers",
    "",
    `Message-ID: ${messageId}`,
    "--b--",
    "",
  ].join("\r\n");
  await deliverInbound(Object.assign(testbed, { smtpPort: testbed.program.ports.smtp! }), { to: feedbackAddress, raw });
}

const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
