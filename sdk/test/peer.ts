/** A real HTTP server that speaks the Connect protocol with the real contract; the test scripts its answers. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Posthorn, type PosthornOptions } from "../src/index.ts";

export interface Peer {
  url: string;
  client: Posthorn;
  /** A client with other options. */
  connect(options: PosthornOptions): Posthorn;
  /** What was asked, in order. */
  requests: { path: string; headers: IncomingHttpHeaders }[];
  close(): Promise<void>;
}

export interface PeerOptions {
  routes?: (router: ConnectRouter) => void;
  /** Answers a request in place of the API, as a proxy or a broken server would; true when it did. */
  instead?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

export const peerKey = "ph_live_key-of-the-test";

export async function startPeer({ routes = () => {}, instead }: PeerOptions): Promise<Peer> {
  const requests: Peer["requests"] = [];
  const api = connectNodeAdapter({
    routes,
    requireConnectProtocolHeader: true,
    jsonOptions: { alwaysEmitImplicit: true },
  });
  const server = createServer((request, response) => {
    requests.push({ path: request.url!, headers: request.headers });
    response.setHeader("x-request-id", `request-${requests.length}`);
    if (!instead?.(request, response)) api(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const connect = (options: PosthornOptions) => new Posthorn({ apiKey: peerKey, baseUrl: url, ...options });
  return {
    url,
    requests,
    connect,
    client: connect({}),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The error that a promise ends in. */
export async function rejection<E extends Error>(promise: Promise<unknown>): Promise<E> {
  return await promise.then(
    (value) => {
      throw new Error(`expected an error, got ${JSON.stringify(value)}`);
    },
    (error: E) => error,
  );
}
