/** A minimal SMTP load generator: several connections with one message at a time, and a pipelined envelope like that of real servers. */
import { connect, type Socket } from "node:net";

export type Login = { user: string; password: string };

export type SmtpLoad = {
  port: number;
  login?: Login;
  from?: string;
  to: string;
  message: (i: number) => string;
  count: number;
  connections: number;
};

/** Sends `count` messages and returns messages per second. Throws if one is not accepted. */
export async function runSmtpLoad(load: SmtpLoad): Promise<number> {
  let next = 0;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: load.connections }, async () => {
      const socket = connect(load.port, "127.0.0.1");
      socket.setNoDelay(true);
      const reply = readReplies(socket);
      const expect = async (code: string) => {
        const received = await reply();
        if (!received.startsWith(code)) throw new Error(`received ${received} instead of ${code}`);
      };
      await expect("220");
      socket.write("EHLO bench.there.test\r\n");
      await expect("250");
      if (load.login) {
        socket.write(`AUTH PLAIN ${initialResponse(load.login)}\r\n`);
        await expect("235");
      }
      while (next < load.count) {
        const message = load.message(next++);
        socket.write(`MAIL FROM:<${load.from ?? "ann@there.test"}>\r\nRCPT TO:<${load.to}>\r\nDATA\r\n`);
        await expect("250");
        await expect("250");
        await expect("354");
        socket.write(`${message}\r\n.\r\n`);
        await expect("250");
      }
      socket.end("QUIT\r\n");
    }),
  );
  return load.count / ((performance.now() - began) / 1000);
}

function initialResponse({ user, password }: Login): string {
  return Buffer.from(`\0${user}\0${password}`).toString("base64");
}

function readReplies(socket: Socket): () => Promise<string> {
  let text = "";
  let wake = () => {};
  let ended = false;
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
    wake();
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    ended = true;
    wake();
  });
  return async () => {
    for (;;) {
      const whole = /^(?:\d{3}-.*\r\n)*\d{3}(?: .*)?\r\n/.exec(text)?.[0];
      if (whole) {
        text = text.slice(whole.length);
        return whole;
      }
      if (ended) throw new Error(`the server closed the connection: ${text}`);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
}
