// A user's program against the real server: sends, receives a webhook, and follows the events over the server's death. Each line it
// prints is a JSON object; the test acts on them.
import { createServer } from "node:http";
import { Posthorn } from "posthorn";
import { fileCursorStore } from "posthorn/node";

const tell = (what) => console.log(JSON.stringify(what));
const posthorn = new Posthorn({ timeoutMs: 60_000, maxRetries: 20 });
const letter = {
  from: "Shop <orders@example.test>",
  to: "ada@example.test",
  subject: "Your order",
  body: "Thank you.",
};

const sent = await posthorn.emails.send({
  ...letter,
  metadata: { order: "1042" },
  attachments: [{ filename: "receipt.txt", content: Buffer.from("12.00 EUR") }],
});
const content = await posthorn.emails.get(sent.id);
tell({ sent: sent.status, attachment: content.attachments[0].sizeBytes });

// The endpoint's secret is known only after it was told to the server, which posts to it at once.
let handle;
const server = createServer((request, response) => handle(request, response)).listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
const { port } = server.address();
const { webhook, signingSecret } = await posthorn.webhooks.create({
  url: `http://127.0.0.1:${port}/`,
  eventTypes: ["email.delivered"],
});
const hooked = new Promise((resolve) => {
  handle = posthorn.webhooks.nodeHandler({ secret: signingSecret, onDelivered: resolve });
});
const { id } = await posthorn.emails.send(letter);
const event = await hooked;
const forged = await fetch(`http://127.0.0.1:${port}/`, {
  method: "POST",
  headers: {
    "webhook-id": event.id,
    "webhook-timestamp": String(Math.floor(Date.now() / 1000)),
    "webhook-signature": "v1,AAAA",
  },
  body: JSON.stringify(event),
});
tell({ webhook: event.type, same: event.emailId === id, forged: forged.status });
await posthorn.webhooks.delete(webhook.id);
server.close();
server.closeAllConnections();

const cursors = [];
const ended = new AbortController();
const onReconnect = ({ error }) => tell({ lost: error.code });
for await (const { cursor, event } of posthorn.events.stream({
  store: fileCursorStore("place"),
  onReconnect,
  signal: ended.signal,
})) {
  cursors.push(cursor);
  if (event.metadata.last) ended.abort();
  else if (event.emailId === id) tell({ streaming: true });
}
tell({ node: process.version, cursors });
