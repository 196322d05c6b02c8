/** A real HTTP server that implements the Connect protocol with the real contract. Tests script its responses. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Posthorn, type PosthornOptions } from "../src/index.ts";

export interface Peer {
  url: string;
  client: Posthorn;
  /** Creates a client with other options. */
  connect(options: PosthornOptions): Posthorn;
  /** The requests that arrived, in order. */
  requests: { path: string; headers: IncomingHttpHeaders }[];
  close(): Promise<void>;
}

export interface PeerOptions {
  routes?: (router: ConnectRouter) => void;
  /** Handles a request instead of the API, like a proxy or a broken server. Returns true when it did. */
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

/** Returns the error that a promise rejects with. */
export async function rejection<E extends Error>(promise: Promise<unknown>): Promise<E> {
  return await promise.then(
    (value) => {
      throw new Error(`expected an error, got ${JSON.stringify(value)}`);
    },
    (error: E) => error,
  );
}
