// A Fastify server: POST /orders sends an email, POST /hooks/posthorn receives webhooks.
import fastify from "fastify";
import { Posthorn, PosthornError } from "posthorn";
import { webhookRoute } from "posthorn/fastify";

const posthorn = new Posthorn();
const app = fastify();

app.post(
  "/hooks/posthorn",
  webhookRoute({
    secret: process.env.POSTHORN_WEBHOOK_SECRET,
    onDelivered: ({ emailId, delivered }) => console.log("delivered", emailId, delivered.recipients.join(", ")),
    onBounced: ({ emailId, bounced }) =>
      console.log("bounced", emailId, bounced.recipients.join(", "), bounced.smtpReply),
  }),
);

app.post("/orders", async (request, reply) => {
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
  return reply.code(201).send({ id, status });
});

app.setErrorHandler((error, _request, reply) => {
  if (!(error instanceof PosthornError) || error.code !== "invalid_argument") throw error;
  return reply.code(400).send({ error: error.message });
});

console.log(`Listening on ${await app.listen({ port: Number(process.env.PORT ?? 3000), host: "127.0.0.1" })}`);
