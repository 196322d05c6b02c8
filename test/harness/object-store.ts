/**
 * An S3-compatible store for tests: an S3 server from npm, or the one that TEST_S3_ENDPOINT names (scripts/swift.ts). In front of it, a proxy
 * can refuse, hang, answer with errors, hold requests, damage objects, and tell another time.
 */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import S3rver from "@20minutes/s3rver";
import { readStoreAddress, type StoreAddress } from "../../src/objects/address.ts";
import { type Credentials, createS3, type S3, type S3Options } from "../../src/objects/s3.ts";

/** What the proxy does with requests. An object: its answer. */
export type Mode = "serve" | "refuse" | "hang" | { status: number; code: string };

export type TestStore = {
  address: StoreAddress;
  credentials: Credentials;
  /** POSTHORN_CONTENT_URL and the credentials. */
  env: Record<string, string>;
  mode(next: Mode): void;
  /** The store's clock is ahead by this much, so that its objects are older. */
  ahead(ms: number): void;
  /** Calls the listener with each request before it is passed on. */
  onRequest(listener: (request: { method: string; path: string }) => Promise<void> | void): void;
  /** The requests so far, as `PUT objects/…`. */
  requests: string[];
  s3(options?: Partial<S3Options>): S3;
  /** The names of all objects, with the mark. */
  names(): Promise<string[]>;
  /** Changes an object behind the program's back. */
  replace(name: string, change: (object: Buffer) => Buffer): Promise<void>;
  stop(): Promise<void>;
};

const bucket = "mail-content";

export async function startObjectStore(): Promise<TestStore> {
  const backend = await startBackend();
  const requests: string[] = [];
  const prefix = `test-${randomUUID()}`;
  let mode: Mode = "serve";
  let aheadMs = 0;
  let onRequest: (request: { method: string; path: string }) => Promise<void> | void = () => {};

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "" } = request;
    const path = decodeURIComponent(url).replace(`/${bucket}/`, "").replace(`${prefix}/`, "");
    requests.push(`${method} ${path}`);
    await onRequest({ method, path });
    if (mode === "refuse") return void request.socket.destroy();
    if (mode === "hang") return;
    if (mode !== "serve") {
      request.resume();
      response.writeHead(mode.status, { "content-type": "application/xml" });
      response.end(`<?xml version="1.0"?><Error><Code>${mode.code}</Code><Message>as the test wants</Message></Error>`);
      return;
    }
    const passed = httpRequest({ host: "127.0.0.1", port: backend.port, method, path: url, headers: request.headers });
    passed.on("response", (answer) => {
      const date = new Date(Date.parse(answer.headers.date ?? new Date().toUTCString()) + aheadMs).toUTCString();
      response.writeHead(answer.statusCode ?? 500, { ...answer.headers, date });
      answer.pipe(response);
    });
    passed.on("error", () => request.socket.destroy());
    request.on("error", () => passed.destroy());
    request.pipe(passed);
  }

  const proxy = createServer(
    (request, response) => void handle(request, response).catch(() => request.socket.destroy()),
  );
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const { port } = proxy.address() as AddressInfo;
  const url = `s3://${bucket}/${prefix}?endpoint=http://127.0.0.1:${port}&region=us-east-1`;
  const read = readStoreAddress(url);
  if (!read.ok) throw new Error(read.reason);
  const { address } = read;
  const { credentials } = backend;
  const own = createS3({ address: { ...address, endpoint: `http://127.0.0.1:${backend.port}` }, credentials });

  return {
    address,
    credentials,
    env: {
      POSTHORN_CONTENT_URL: url,
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    },
    mode(next) {
      mode = next;
      if (next !== "serve") proxy.closeIdleConnections();
    },
    ahead(ms) {
      aheadMs = ms;
    },
    onRequest(listener) {
      onRequest = listener;
    },
    requests,
    s3: (options) => createS3({ address, credentials, ...options }),
    async names() {
      const names: string[] = [];
      for (;;) {
        const page = await own.list({ under: "", after: names.at(-1), limit: 1000 });
        if (page.length === 0) return names;
        names.push(...page.map(({ name }) => name));
      }
    },
    async replace(name, change) {
      const [found] = await own.list({ under: name, limit: 1 });
      const object = change(await own.get(name, { start: 0, end: found!.bytes }));
      await own.put(name, { bytes: object.length, chunks: () => [object] });
    },
    async stop() {
      own.close();
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
      await backend.stop();
    },
  };
}

type Backend = { port: number; credentials: Credentials; stop(): Promise<void> };

async function startBackend(): Promise<Backend> {
  const given = process.env.TEST_S3_ENDPOINT;
  if (given !== undefined) {
    const credentials = {
      accessKeyId: process.env.TEST_S3_ACCESS_KEY_ID!,
      secretAccessKey: process.env.TEST_S3_SECRET_ACCESS_KEY!,
    };
    return { port: Number(new URL(given).port), credentials, stop: async () => {} };
  }
  const directory = await mkdtemp(join(tmpdir(), "posthorn-s3-"));
  const server = new S3rver({
    address: "127.0.0.1",
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: bucket }],
  });
  const { port } = await server.run();
  return {
    port,
    credentials: { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" },
    async stop() {
      server.httpServer.closeAllConnections();
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
