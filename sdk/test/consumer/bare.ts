// A user's program for a compiler that has neither the browser's types nor Node's.
import { fetchWebhookHandler, Posthorn, PosthornError, type PosthornOptions } from "posthorn";
import { fileCursorStore } from "posthorn/node";

declare const signal: NonNullable<NonNullable<Parameters<Posthorn["emails"]["get"]>[1]>["signal"]>;

export const options: PosthornOptions = {
  apiKey: "ph_live_x",
  fetch: async (url, init) => {
    url.toUpperCase();
    init?.method?.toUpperCase();
    throw new Error("no network");
  },
};

const posthorn = new Posthorn(options);

export async function send(): Promise<string> {
  const content = new Uint8Array([1, 2, 3]);
  const attachments = [{ content, filename: "a.bin" }];
  const email = { from: "a@example.com", to: "b@example.net", subject: "Hello", attachments };
  const sent = await posthorn.emails.send(email, { signal }).catch((error: unknown) => {
    // @ts-expect-error: no such code
    if (error instanceof PosthornError) error.code satisfies "strange";
    throw error;
  });
  // @ts-expect-error: a signal is no string
  await posthorn.emails.get(sent.id, { signal: "now" });
  return sent.id;
}

export async function listen(): Promise<void> {
  for await (const { event } of posthorn.events.stream({ signal, store: fileCursorStore("cursor") })) event.id;
}

export const hook = fetchWebhookHandler({ secret: "whsec_x", onDelivered: ({ delivered }) => delivered.recipients });
