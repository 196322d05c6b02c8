// POST /hooks/posthorn receives webhooks.
import { webhookHandler } from "posthorn/next";

export const POST = webhookHandler({
  secret: process.env.POSTHORN_WEBHOOK_SECRET,
  onDelivered: ({ emailId, delivered }) => console.log("delivered", emailId, delivered.recipients.join(", ")),
  onBounced: ({ emailId, bounced }) =>
    console.log("bounced", emailId, bounced.recipients.join(", "), bounced.smtpReply),
});
