// An Express server: POST /orders sends an email, POST /hooks/posthorn receives webhooks.
import express from "express";
import { Posthorn, PosthornError } from "posthorn";
import { webhookHandler } from "posthorn/express";

const posthorn = new Posthorn();
const app = express();

// Mounted before express.json(), because a webhook is verified with its raw body.
app.post(
  "/hooks/posthorn",
  webhookHandler({
    secret: process.env.POSTHORN_WEBHOOK_SECRET,
    onDelivered: ({ emailId, delivered }) => console.log("delivered", emailId, delivered.recipients.join(", ")),
    onBounced: ({ emailId, bounced }) =>
      console.log("bounced", emailId, bounced.recipients.join(", "), bounced.smtpReply),
  }),
);

app.use(express.json());

app.post("/orders", async (request, response) => {
  const { order, email } = request.body;
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
  response.status(201).json({ id, status });
});

app.use((error, _request, response, next) => {
  if (!(error instanceof PosthornError) || error.code !== "invalid_argument") return next(error);
  response.status(400).json({ error: error.message });
});

const server = app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}`);
});
