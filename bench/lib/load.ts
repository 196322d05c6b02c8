/** A minimal HTTP/1.1 load generator: keep-alive sockets with one request at a time, so that it takes little of the shared cores. */
import { connect, type Socket } from "node:net";

export type Load = {
  url: string;
  path: string;
  headers: Record<string, string>;
  /** Octets for large bodies: encoding a string of 7 MB for each request takes CPU time that the program needs. */
  body: (i: number) => string | Buffer;
  count: number;
  connections: number;
};

/** Sends `count` requests. `failures` has every response other than 200. */
export async function runLoad(load: Load): Promise<{ seconds: number; perSecond: number; failures: string[] }> {
  const { hostname, port, host } = new URL(load.url);
  const head = [
    `POST ${load.path} HTTP/1.1`,
    `Host: ${host}`,
    ...Object.entries(load.headers).map(([name, value]) => `${name}: ${value}`),
  ].join("\r\n");
  const failures: string[] = [];
  let next = 0;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: load.connections }, async () => {
      const socket = connect(Number(port), hostname);
      socket.setNoDelay(true);
      const answer = answersOf(socket);
      while (next < load.count) {
        const body = load.body(next++);
        const start = `${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
        if (typeof body === "string") socket.write(start + body);
        else {
          socket.write(start);
          socket.write(body);
        }
        const text = await answer();
        if (!text.startsWith("HTTP/1.1 200")) failures.push(text.slice(0, 600));
      }
      socket.destroy();
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  return { seconds, perSecond: load.count / seconds, failures };
}

/** Reads the responses in order, each with its body. */
function answersOf(socket: Socket): () => Promise<string> {
  let seen = "";
  let resolveNext = (_answer: string) => {};
  socket.setEncoding("latin1");
  socket.on("data", (text: string) => {
    seen += text;
    const end = seen.indexOf("\r\n\r\n");
    if (end < 0) return;
    const whole = end + 4 + bodyLength(seen, end);
    if (seen.length < whole) return;
    const answer = seen.slice(0, whole);
    seen = seen.slice(whole);
    resolveNext(answer);
  });
  socket.on("error", (error) => resolveNext(`error ${error.message}`));
  socket.on("close", () => resolveNext("closed"));
  return () =>
    new Promise((resolve) => {
      resolveNext = resolve;
    });
}

function bodyLength(answer: string, end: number): number {
  const at = answer.search(/content-length: /i);
  return at < 0 || at > end ? 0 : Number.parseInt(answer.slice(at + 16, end), 10);
}
