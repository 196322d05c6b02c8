// A program that uses nodemailer sends through Posthorn: only the transport is different.
import { fileURLToPath } from "node:url";
import { createTransport } from "nodemailer";
import { posthornTransport } from "posthorn/nodemailer";

const mailer = createTransport(posthornTransport(), { from: process.env.FROM ?? "Shop <shop@example.test>" });

await mailer.verify();
const info = await mailer.sendMail({
  to: process.argv[2] ?? "Ada <ada@there.test>",
  subject: "Your order 1042",
  text: "Thank you for your order.",
  html: '<p>Thank you for your order.</p><img src="cid:logo" alt="Our logo">',
  attachments: [
    { filename: "receipt.txt", content: "1 teapot 12.00 EUR" },
    { filename: "logo.png", path: fileURLToPath(new URL("logo.png", import.meta.url)), cid: "logo" },
  ],
  headers: { "X-Posthorn-Metadata-Order": "1042" },
});
console.log(`accepted for ${info.accepted.join(", ")} as ${info.id}, Message-ID ${info.messageId}`);
