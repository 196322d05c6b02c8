// A user's program for the type checker: the lines with @ts-expect-error must not compile, all others must.
import {
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
