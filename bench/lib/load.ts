/** A lean HTTP/1.1 client for load: keep-alive sockets, one request at a time on each, so that the client takes little of the shared cores. */
import { connect, type Socket } from "node:net";

export type Load = {
  url: string;
  path: string;
  headers: Record<string, string>;
  body: (i: number) => string;
  count: number;
  connections: number;
};

/** Sends `count` requests; gives the seconds taken and every answer that was not 200. */
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
      const answers = readAnswers(socket);
      while (next < load.count) {
        const body = Buffer.from(load.body(next++));
        socket.write(Buffer.concat([Buffer.from(`${head}\r\nContent-Length: ${body.length}\r\n\r\n`), body]));
        const answer = await answers();
        if (!answer.startsWith("HTTP/1.1 200")) failures.push(answer.slice(0, 600));
      }
      socket.destroy();
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  return { seconds, perSecond: load.count / seconds, failures };
}

function readAnswers(socket: Socket): () => Promise<string> {
  let seen = Buffer.alloc(0) as Buffer;
  let waiting: ((answer: string) => void) | undefined;
  const look = () => {
    const end = seen.indexOf("\r\n\r\n");
    if (end < 0 || !waiting) return;
    const head = seen.subarray(0, end).toString("latin1");
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (seen.length < end + 4 + length) return;
    const answer = seen.subarray(0, end + 4 + length).toString();
    seen = seen.subarray(end + 4 + length);
    const resolve = waiting;
    waiting = undefined;
    resolve(answer);
  };
  socket.on("data", (chunk) => {
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    look();
  });
  socket.on("error", (error) => waiting?.(`error ${error.message}`));
  socket.on("close", () => waiting?.("closed"));
  return () =>
    new Promise((resolve) => {
      waiting = resolve;
      look();
    });
}
