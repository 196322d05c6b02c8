import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { type Api, createApi } from "./api-client.ts";

async function answering(respond: (response: ServerResponse) => void, work: (api: Api) => Promise<void>) {
  const server = createServer((_, response) => respond(response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await work(createApi({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: "ph_x" }));
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test("an error object that is not Posthorn's is shown with its status", { timeout: 10_000 }, async () => {
  for (const body of ['{"error":"Unauthorized"}', "null", "Unauthorized"])
    await answering(
      (response) => response.writeHead(401).end(body),
      async (api) => {
        await assert.rejects(api.call("EmailService/GetEmail", {}), { message: `HTTP 401: ${body}` });
      },
    );
});

test("a stream that ends within a message is an error", { timeout: 10_000 }, async () => {
  await answering(
    (response) => response.end('{"cursor":"1"}\n{"cursor":"2","ev'),
    async (api) => {
      const messages = api.stream("EmailService/StreamEvents", {});
      assert.deepEqual((await messages.next()).value, { cursor: "1" });
      await assert.rejects(messages.next(), /The connection was lost: the answer ends within a message/);
    },
  );
});
