/** A webhook receiver that reads, counts and answers 200, in a process of its own. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serveCounts } from "./counted.ts";

let taken = 0;
let lastBody = "";
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    taken += 1;
    lastBody = Buffer.concat(chunks).toString();
    response.writeHead(200, { "content-length": "0" }).end();
  });
});
server.listen(0, "127.0.0.1", () => serveCounts((server.address() as AddressInfo).port, () => ({ taken, lastBody })));
