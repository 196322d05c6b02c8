/** Submits mail to the program over SMTP, as programs of customers do: with nodemailer, over STARTTLS or TLS. */
import { createTransport, type SendMailOptions } from "nodemailer";
import type { Testbed } from "./testbed.ts";

export type SubmitOptions = { key?: string; isTls?: boolean };

/** Returns the server's last reply, or rejects with its error reply. */
export async function submit(testbed: Testbed, mail: SendMailOptions, options: SubmitOptions = {}) {
  const transport = openTransport(testbed, options);
  try {
    const { response, messageId } = await transport.sendMail(mail);
    return { response, messageId, id: /queued as (em_[0-9a-f-]{36})/.exec(response)?.[1] ?? "" };
  } finally {
    transport.close();
  }
}

/** A message that is sent as it is. Lines may end with LF. */
export async function submitRaw(
  testbed: Testbed,
  { to, raw, ...options }: SubmitOptions & { to: string[]; raw: string | Buffer },
) {
  const bytes = typeof raw === "string" ? raw.replace(/\r?\n/g, "\r\n") : raw;
  return await submit(testbed, { envelope: { from: "bounces@sender.test", to }, raw: bytes }, options);
}

export function openTransport({ program }: Testbed, { key = program.key, isTls = false }: SubmitOptions = {}) {
  return createTransport({
    // One session for all messages of the transport.
    pool: true,
    maxConnections: 1,
    host: "127.0.0.1",
    port: isTls ? program.ports.submissions! : program.ports.submission!,
    secure: isTls,
    requireTLS: true,
    auth: { user: "posthorn", pass: key },
    tls: { rejectUnauthorized: false },
  });
}
