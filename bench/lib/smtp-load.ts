/** A lean SMTP client for load: some connections, one message at a time on each, the envelope in one write as real servers do. */
import { connect, type Socket } from "node:net";

export type SmtpLoad = {
  port: number;
  from?: string;
  to: string;
  message: (i: number) => string;
  count: number;
  connections: number;
};

/** Brings `count` messages; gives how many per second were taken, and throws at the first that was not. */
export async function runSmtpLoad(load: SmtpLoad): Promise<number> {
  let next = 0;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: load.connections }, async () => {
      const socket = connect(load.port, "127.0.0.1");
      socket.setNoDelay(true);
      const reply = readReplies(socket);
      const expect = async (code: string) => {
        const said = await reply();
        if (!said.startsWith(code)) throw new Error(`${said} in place of ${code}`);
      };
      await expect("220");
      socket.write("EHLO bench.there.test\r\n");
      await expect("250");
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
      if (ended) throw new Error(`the server left: ${text}`);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
}
