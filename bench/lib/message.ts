/** A message as a mail program writes it, for the benches that send over SMTP. */

export type SampleMessage = { from: string; to: string; subject: string; id: string; text: string; html: string };

export function writeMessage({ from, to, subject, id, text, html }: SampleMessage): string {
  return [
    `From: ${from}`,
    `To: ${to}`,
    `Subject: ${subject}`,
    `Message-ID: <${id}>`,
    "Date: Mon, 02 Nov 2026 10:00:00 +0000",
    "MIME-Version: 1.0",
    'Content-Type: multipart/alternative; boundary="=_b"',
    "",
    "--=_b",
    "Content-Type: text/plain; charset=utf-8",
    "",
    text,
    "--=_b",
    "Content-Type: text/html; charset=utf-8",
    "",
    html,
    "--=_b--",
  ].join("\r\n");
}
