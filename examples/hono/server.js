// A Hono server on Node: POST /orders sends an email, POST /hooks/posthorn receives webhooks.
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { Posthorn, PosthornError } from "posthorn";
import { webhookHandler } from "posthorn/hono";

const posthorn = new Posthorn();
const app = new Hono();

app.post(
  "/hooks/posthorn",
  webhookHandler({
    secret: process.env.POSTHORN_WEBHOOK_SECRET,
    onDelivered: ({ emailId, delivered }) => console.log("delivered", emailId, delivered.recipients.join(", ")),
    onBounced: ({ emailId, bounced }) =>
      console.log("bounced", emailId, bounced.recipients.join(", "), bounced.smtpReply),
  }),
);

app.post("/orders", async (c) => {
  const { order, email } = await c.req.json();
  const { id, status } = await posthorn.emails.send({
    from: process.env.FROM ?? "Shop <shop@example.test>",
    // One address, also if the request has a list.
    to: String(email),
    subject: `Your order ${order}`,
    body: "Thank you for your order.",
    async: true,
    // A second request for the same order does not send a second email.
    idempotencyKey: `order-${order}`,
  });
  return c.json({ id, status }, 201);
});

app.onError((error, c) => {
  if (!(error instanceof PosthornError) || error.code !== "invalid_argument") throw error;
  return c.json({ error: error.message }, 400);
});

serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: "127.0.0.1" }, ({ port }) => {
  console.log(`Listening on http://127.0.0.1:${port}`);
});
