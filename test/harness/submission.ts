/** Submits mail to the program over SMTP, as programs of customers do: with nodemailer, over STARTTLS or TLS. */
import { once } from "node:events";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { createTransport, type SendMailOptions } from "nodemailer";
import type { Send } from "./ledger.ts";
import type { RunningProgram } from "./program.ts";
import type { Testbed } from "./testbed.ts";

/** `node` is the one that gets the mail; by default the first. */
export type SubmitOptions = { key?: string; isTls?: boolean; node?: RunningProgram };

/** Returns the server's last reply, or rejects with its error reply. */
export async function submit(testbed: Testbed, mail: SendMailOptions, options: SubmitOptions = {}) {
  const transport = openTransport(testbed, options);
  try {
    const { response, messageId } = await transport.sendMail(mail);
    return { response, messageId, id: idIn(response) };
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

/** Submits one message, with the same octets each time: a client that repeats a message after it lost the answer. */
export function submitAgain(testbed: Testbed): Send {
  return async ({ key, to, signal }) => {
    const node = testbed.newest();
    const transport = openTransport(testbed, { node });
    const raw = `From: news@sender.test\r\nTo: ${to.join(", ")}\r\nSubject: ${key}\r\nMessage-ID: <${key}@app.test>\r\n\r\nHello\r\n`;
    const close = () => transport.close();
    signal.addEventListener("abort", close);
    try {
      const { response } = await transport.sendMail({ envelope: { from: "app@sender.test", to: [...to] }, raw });
      return { id: idIn(response) };
    } catch (error) {
      const { responseCode, message } = error as Error & { responseCode?: number };
      if (responseCode === undefined) throw error;
      return { refusal: message, isTemporary: responseCode < 500 };
    } finally {
      signal.removeEventListener("abort", close);
      transport.close();
    }
  };
}

/** Opens a session and sends a message without its end. */
export async function submitHalf(testbed: Testbed): Promise<TLSSocket> {
  const { ports, key } = testbed.newest();
  const socket = connectTls({ host: "127.0.0.1", port: ports.submissions, rejectUnauthorized: false });
  // A killed program resets its connections.
  socket.on("error", () => {});
  const login = Buffer.from(`\0posthorn\0${key}`).toString("base64");
  const begin = ["MAIL FROM:<app@sender.test>", "RCPT TO:<half@there.test>", "DATA"];
  for (const [command, code] of [
    ["EHLO app.test", "220"],
    [`AUTH PLAIN ${login}`, "250"],
    [begin.join("\r\n"), "235"],
    ["From: news@sender.test\r\nMessage-ID: <half@app.test>\r\n\r\nThis is ha", "354"],
  ] as const) {
    for (let text = ""; !new RegExp(`^${code} .*\\r\\n$`, "m").test(text); )
      text += String((await once(socket, "data"))[0]);
    socket.write(code === "354" ? command : `${command}\r\n`);
  }
  return socket;
}

function idIn(response: string): string {
  return /queued as (em_[0-9a-f-]{36})/.exec(response)?.[1] ?? "";
}

export function openTransport(
  testbed: Testbed,
  { node = testbed.program, key = node.key, isTls = false }: SubmitOptions = {},
) {
  return createTransport({
    // One session for all messages of the transport.
    pool: true,
    maxConnections: 1,
    host: "127.0.0.1",
    port: isTls ? node.ports.submissions! : node.ports.submission!,
    secure: isTls,
    requireTLS: true,
    auth: { user: "posthorn", pass: key },
    tls: { rejectUnauthorized: false },
  });
}
