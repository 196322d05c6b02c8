/** A webhook receiver in its own process: reads and counts requests, and answers 200. Started by webhooks.ts. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serveCounts } from "./counting-process.ts";

let received = 0;
let lastBody = "";
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    received += 1;
    lastBody = Buffer.concat(chunks).toString();
    response.writeHead(200, { "content-length": "0" }).end();
  });
});
server.listen(0, "127.0.0.1", () =>
  serveCounts((server.address() as AddressInfo).port, () => ({ received, lastBody })),
);
