/** A raw SMTP client for tests of the servers for inbound and submitted mail, with a source address of its own: 127.0.0.2 is another network than 127.0.0.1. */
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";

export type SmtpClient = {
  socket: Socket;
  /** The next complete reply, or undefined when the server has closed the connection. */
  reply(): Promise<string | undefined>;
  /** Sends a line and returns the reply. */
  command(line: string): Promise<string | undefined>;
  /** Greets the server and logs in with an API key. Returns the reply to AUTH. */
  logIn(key: string): Promise<string | undefined>;
  /** Sends the envelope and DATA. The server then waits for the message. */
  beginMessage(to: string): Promise<void>;
  /** Sends a whole message, whose lines end with CRLF, and returns the reply to it. */
  sendMessage(to: string, raw: string | Buffer): Promise<string | undefined>;
};

export function dialSmtp(port: number, localAddress = "127.0.0.1"): SmtpClient {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  let text = "";
  let ended = false;
  let wake = () => {};
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
    wake();
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    ended = true;
    wake();
  });

  async function reply(): Promise<string | undefined> {
    for (;;) {
      const found = /^(?:\d{3}-.*\r\n)*\d{3} .*\r\n/.exec(text);
      if (found) {
        text = text.slice(found[0].length);
        return found[0].trimEnd();
      }
      if (ended) return undefined;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }

  async function command(line: string): Promise<string | undefined> {
    socket.write(`${line}\r\n`);
    return await reply();
  }

  let greeted = false;

  async function greet(): Promise<void> {
    greeted = true;
    assert.match((await reply()) ?? "", /^220 /);
    assert.match((await command("EHLO mx.there.test")) ?? "", /^250-/);
  }

  async function beginMessage(to: string): Promise<void> {
    if (!greeted) await greet();
    assert.match((await command("MAIL FROM:<ann@there.test>")) ?? "", /^250 /);
    assert.match((await command(`RCPT TO:<${to}>`)) ?? "", /^250 /);
    assert.match((await command("DATA")) ?? "", /^354 /);
  }

  return {
    socket,
    reply,
    command,
    async logIn(key) {
      await greet();
      return await command(`AUTH PLAIN ${Buffer.from(`\0posthorn\0${key}`).toString("base64")}`);
    },
    beginMessage,
    async sendMessage(to, raw) {
      await beginMessage(to);
      socket.write(raw);
      return await command("\r\n.");
    },
  };
}
