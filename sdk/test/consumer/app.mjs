// A user's program that imports the package from the packed tarball. Prints its results as one line of JSON.
import { Posthorn, PosthornError } from "posthorn";
import { fileCursorStore } from "posthorn/node";

const posthorn = new Posthorn();
const sent = await posthorn.emails.send({
  from: "shop@example.com",
  to: "ada@example.net",
  subject: "Your order",
  body: "Thank you.",
  attachments: [
    { filename: "receipt.txt", content: Buffer.from("12.00 EUR") },
    { path: "terms.txt" },
    { url: "data:,!", filename: "end.txt" },
  ],
});

const cursors = [];
for await (const { cursor } of posthorn.events.stream({ store: fileCursorStore("cursor") })) {
  cursors.push(cursor);
  if (cursors.length === 4) break;
}

const secret = `whsec_${btoa("a secret of the test, long enough")}`;
const hook = await posthorn.webhooks.signTestPayload('{"id":"evt_1","type":"email.delivered"}', secret);
const event = await posthorn.webhooks.verify(hook.body, hook.headers, secret);

const refused = await posthorn.emails.get("em_unknown").catch((error) => error);

console.log(
  JSON.stringify({
    node: process.version,
    id: sent.id,
    cursors,
    event: event.type,
    refused: refused instanceof PosthornError ? refused.code : String(refused),
  }),
);
