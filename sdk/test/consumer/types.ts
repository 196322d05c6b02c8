// A user's program for the type checker: the lines with @ts-expect-error must not compile, all others must.
import {
  type AnyAttachment,
  type Domain,
  type Email,
  type EventOf,
  memoryCursorStore,
  nodeWebhookHandler,
  Posthorn,
  PosthornError,
  type SendEmailResponse,
} from "posthorn";
import { fileCursorStore } from "posthorn/node";

const posthorn = new Posthorn({ apiKey: "ph_live_x", baseUrl: "https://mail.example.com" });

export async function send(): Promise<SendEmailResponse> {
  // @ts-expect-error: a subject is required
  await posthorn.emails.send({ from: "a@example.com", to: "b@example.net" });
  // @ts-expect-error: metadata values are strings
  await posthorn.emails.send({ from: "a@example.com", to: "b@example.net", subject: "", metadata: { order: 1 } });
  // @ts-expect-error: the field is called body
  await posthorn.emails.send({ from: "a@example.com", to: "b@example.net", subject: "", text: "Hello" });
  return await posthorn.emails.send({
    from: "a@example.com",
    to: ["b@example.net"] as const,
    subject: "Hello",
    scheduledAt: new Date(),
    attachments: [{ content: new Uint8Array(), filename: "a" }, { content: new Blob([]) }],
    idempotencyKey: "order-1",
  });
}

export async function conveniences(element: { type: unknown; props: object; key: string | null }): Promise<void> {
  await posthorn.emails.send({
    from: { name: "Shop", address: "shop@example.com" },
    to: [{ address: "ada@example.net" }, "Grace <grace@example.net>"],
    subject: "Hello",
    react: element,
    attachments: [
      { path: "receipt.pdf" },
      { path: new URL("file:///receipt.pdf") },
      { url: "https://example.com/a.pdf", contentId: "a" },
      { content: new Blob([]).stream(), filename: "a" },
      { content: chunks(), filename: "b" },
    ],
  });
  // @ts-expect-error: an attachment needs content, path or url
  const attachments: AnyAttachment[] = [{ filename: "a" }];
  await posthorn.emails.send({ from: "a@example.com", to: "b@example.net", subject: "", attachments });
  // @ts-expect-error: the field is called address
  await posthorn.emails.send({ from: "a@example.com", to: { email: "b@example.net" }, subject: "" });
  for await (const { destination, queued } of posthorn.queue.list()) console.log(destination, queued + 1);
  const { totals } = await posthorn.stats.get({ from: new Date(), groupBy: "STATS_DIMENSION_SITE" });
  const { quotas } = await posthorn.workspaces.quotas();
  for await (const entry of posthorn.audit.list({ action: "key" }))
    console.log(entry.at, totals.bounced, quotas.length);
}

async function* chunks(): AsyncGenerator<Uint8Array | string> {
  yield "text";
}

export async function lists(): Promise<Email[]> {
  const { data, nextPageToken } = await posthorn.emails.list({ status: "EMAIL_STATUS_FAILED", pageSize: 50 });
  nextPageToken.toUpperCase();
  // @ts-expect-error: no such status
  posthorn.emails.list({ status: "FAILED" });
  for await (const domain of posthorn.domains.list()) show(domain);
  return data;
}

function show(domain: Domain): string {
  // @ts-expect-error: absent before the first check
  domain.lastCheckedAt.toUpperCase();
  return `${domain.createdAt.slice(0, 10)} ${domain.summary.canSend} ${domain.records.dkimRecords[0]?.priority ?? ""}`;
}

export async function events(signal: AbortSignal): Promise<void> {
  for await (const { event } of posthorn.events.stream({
    signal,
    types: ["email.bounced"],
    store: memoryCursorStore(),
  })) {
    // @ts-expect-error: the payload depends on the type
    event.bounced;
    if (event.type === "email.bounced") event.bounced.bounceType satisfies string;
  }
  // @ts-expect-error: no such type
  posthorn.events.stream({ types: ["email.opened"] });
  await posthorn.events.listen({
    store: fileCursorStore("cursor"),
    onReplied: ({ replied }) => console.log(replied.from, replied.body),
    onDomainUpdated: ({ domainUpdated }) => console.log(domainUpdated.status),
    onError: (error, event) => console.log(error instanceof PosthornError && error.code, event?.id),
  });
}

export const hook = nodeWebhookHandler({
  secret: "whsec_x",
  onDelivered: (event: EventOf<"email.delivered">) => event,
});
