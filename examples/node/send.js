// Sends an email with an attachment, waits for the first delivery attempt and prints its outcome.
import { Posthorn, PosthornError } from "posthorn";

// The key comes from POSTHORN_KEY, the server's URL from POSTHORN_URL.
const posthorn = new Posthorn();
const to = process.argv[2] ?? "ada@there.test";

try {
  const { id, status, statusMessage } = await posthorn.emails.send({
    from: process.env.FROM ?? "Shop <shop@example.test>",
    to,
    subject: "Your order 1042",
    body: "Thank you for your order. The receipt is attached.",
    html: "<p>Thank you for your order. The receipt is attached.</p>",
    attachments: [{ filename: "receipt.txt", content: Buffer.from("1 teapot 12.00 EUR") }],
    metadata: { order: "1042" },
  });
  console.log(`${id} to ${to}: ${status} (${statusMessage})`);
} catch (error) {
  if (!(error instanceof PosthornError)) throw error;
  console.error(`Not sent: ${error.code}: ${error.message}`);
  process.exitCode = 1;
}
