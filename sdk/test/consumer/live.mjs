// A user's program against the real server: sends, receives a webhook, and streams events while the server is killed and restarted.
// Each line of output is a JSON object that the test waits for.
import { createServer } from "node:http";
import { Posthorn } from "posthorn";
import { fileCursorStore } from "posthorn/node";

const print = (value) => console.log(JSON.stringify(value));
const posthorn = new Posthorn({ timeoutMs: 60_000, maxRetries: 20 });
const email = {
  from: "Shop <orders@example.test>",
  to: "ada@example.test",
  subject: "Your order",
  body: "Thank you.",
};

const sent = await posthorn.emails.send({
  ...email,
  metadata: { order: "1042" },
  attachments: [{ filename: "receipt.txt", content: Buffer.from("12.00 EUR") }],
});
const stored = await posthorn.emails.get(sent.id);
print({ sent: sent.status, attachment: stored.attachments[0].sizeBytes });

// The handler needs the signing secret, which is known only after the webhook is created, so the server starts before the handler exists.
let handle;
const server = createServer((request, response) => handle(request, response)).listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
const { port } = server.address();
const { webhook, signingSecret } = await posthorn.webhooks.create({
  url: `http://127.0.0.1:${port}/`,
  eventTypes: ["email.delivered"],
});
const received = new Promise((resolve) => {
  handle = posthorn.webhooks.nodeHandler({ secret: signingSecret, onDelivered: resolve });
});
const { id } = await posthorn.emails.send(email);
const event = await received;
const forged = await fetch(`http://127.0.0.1:${port}/`, {
  method: "POST",
  headers: {
    "webhook-id": event.id,
    "webhook-timestamp": String(Math.floor(Date.now() / 1000)),
    "webhook-signature": "v1,AAAA",
  },
  body: JSON.stringify(event),
});
print({ webhook: event.type, same: event.emailId === id, forged: forged.status });
await posthorn.webhooks.delete(webhook.id);
server.close();
server.closeAllConnections();

const cursors = [];
const controller = new AbortController();
const onReconnect = ({ error }) => print({ lost: error.code });
for await (const { cursor, event } of posthorn.events.stream({
  store: fileCursorStore("cursor"),
  onReconnect,
  signal: controller.signal,
})) {
  cursors.push(cursor);
  if (event.metadata.last) controller.abort();
  else if (event.emailId === id) print({ streaming: true });
}
print({ node: process.version, cursors });
