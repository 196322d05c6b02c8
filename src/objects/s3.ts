/** The requests that Posthorn makes to an S3-compatible store: put, get a range, list and delete. aws4fetch signs them, transport.ts sends
 * them. Errors are StoreErrors, or ObjectLost for an object that does not exist. Decision 63 has the reasons. */
import { setTimeout as delay } from "node:timers/promises";
import { AwsV4Signer } from "aws4fetch";
import { SaxesParser } from "saxes";
import { type StoreAddress, urlOf } from "./address.ts";
import { kindOfAnswer, ObjectLost, StoreError } from "./store-error.ts";
import {
  createTransport,
  defaultTransportLimits,
  type HttpAnswer,
  type HttpRequest,
  type TransportLimits,
} from "./transport.ts";

export type Credentials = { accessKeyId: string; secretAccessKey: string; sessionToken?: string };

export type Listed = {
  name: string;
  bytes: number;
  /** How long ago the store wrote it, by the store's own clock. */
  ageMs: number;
};

export type S3 = {
  /** `chunks` is called for each try. With `ifAbsent`, false if the object exists. */
  put(name: string, content: Content, options?: PutOptions): Promise<boolean>;
  /** The octets from `start` up to `end`, or to the end of the object. Throws ObjectLost if there is none. */
  get(name: string, range: { start: number; end: number }, signal?: AbortSignal): Promise<Buffer>;
  /** The whole of a small object; undefined if there is none. */
  find(name: string, signal?: AbortSignal): Promise<Buffer | undefined>;
  /** In the order of names, after `after`. */
  list(options: { under: string; after?: string; limit: number; signal?: AbortSignal }): Promise<Listed[]>;
  /** Deleting an object that does not exist succeeds. */
  delete(name: string, signal?: AbortSignal): Promise<void>;
  close(): void;
};
export type Content = { bytes: number; chunks(): Iterable<Buffer> | AsyncIterable<Buffer> };
type PutOptions = { ifAbsent?: boolean; signal?: AbortSignal };

export type S3Options = {
  address: StoreAddress;
  credentials: Credentials;
  limits?: Partial<TransportLimits>;
  /** Pauses before the second try and each one after it. */
  retryPausesMs?: readonly number[];
};

const smallBytes = 64 * 1024;
const listBytes = 4 * 1024 * 1024;

export function createS3({ address, credentials, limits, retryPausesMs = [100, 500] }: S3Options): S3 {
  const transport = createTransport({ ...defaultTransportLimits, ...limits });
  const { prefix } = address;

  type Wanted = {
    method: string;
    url: URL;
    headers?: Record<string, string>;
    content?: Content;
    maxAnswerBytes: number;
    signal?: AbortSignal;
    /** Statuses that are answers, not errors. */
    expected: readonly number[];
  };

  async function once(wanted: Wanted): Promise<HttpAnswer> {
    const { method, url, headers = {}, content, maxAnswerBytes, signal } = wanted;
    const { region } = address;
    const signer = new AwsV4Signer({ method, url: url.href, headers, service: "s3", region, ...credentials });
    const signed = await signer.sign();
    const request: HttpRequest = {
      method,
      url: signed.url,
      headers: { ...Object.fromEntries(signed.headers), "content-length": String(content?.bytes ?? 0) },
      maxAnswerBytes,
      signal,
    };
    if (content) request.body = { bytes: content.bytes, chunks: content.chunks() };
    const answer = await transport.send(request);
    if (wanted.expected.includes(answer.status)) return answer;
    throw errorOf(answer);
  }

  /** Every request may be repeated: each name is written once, with the same octets. */
  async function send(wanted: Wanted): Promise<HttpAnswer> {
    for (let tried = 0; ; tried++) {
      try {
        return await once(wanted);
      } catch (error) {
        const pauseMs = retryPausesMs[tried];
        if (pauseMs === undefined || !isWorthRepeating(error)) throw error;
        await delay(pauseMs, undefined, { signal: wanted.signal });
      }
    }
  }

  return {
    async put(name, content, { ifAbsent = false, signal } = {}) {
      const headers: Record<string, string> = ifAbsent ? { "if-none-match": "*" } : {};
      // 409: another conditional put of the same name is in progress. 501: the store knows no conditional puts.
      const expected = ifAbsent ? [200, 201, 409, 412, 501] : [200, 201];
      const wanted = { method: "PUT", url: urlOf(address, name), content, maxAnswerBytes: smallBytes, signal };
      const { status } = await send({ ...wanted, headers, expected });
      if (status === 501) await send({ ...wanted, expected: [200, 201] });
      return status !== 409 && status !== 412;
    },
    async get(name, { start, end }, signal) {
      const headers = { range: `bytes=${start}-${end - 1}` };
      const wanted = { method: "GET", url: urlOf(address, name), headers, signal, expected: [200, 206, 404, 416] };
      const { status, body } = await send({ ...wanted, maxAnswerBytes: Math.max(smallBytes, end - start) });
      if (status === 404) throw notFound(name, body);
      if (status === 416 || body.length !== end - start)
        throw new ObjectLost(`the object ${name} is shorter than it was`);
      return body;
    },
    async find(name, signal) {
      const wanted = { method: "GET", url: urlOf(address, name), signal, expected: [200, 404] };
      const { status, body } = await send({ ...wanted, maxAnswerBytes: smallBytes });
      if (status !== 404) return body;
      const error = notFound(name, body);
      if (error instanceof StoreError) throw error;
      return undefined;
    },
    async list({ under, after, limit, signal }) {
      const url = urlOf(address);
      // ListObjects, not ListObjectsV2: every store has it, and a marker may be any name, so a list continues after a restart.
      url.searchParams.set("max-keys", String(limit));
      url.searchParams.set("prefix", `${prefix}${under}`);
      if (after !== undefined) url.searchParams.set("marker", `${prefix}${after}`);
      const { body, headers } = await send({ method: "GET", url, maxAnswerBytes: listBytes, signal, expected: [200] });
      const nowMs = Date.parse(headers.date ?? "");
      return readList(body.toString("utf8")).map(({ key, bytes, modified }) => ({
        name: key.slice(prefix.length),
        bytes,
        // Without a date, nothing is old enough to be deleted.
        ageMs: nowMs - Date.parse(modified) || 0,
      }));
    },
    async delete(name, signal) {
      const wanted = { method: "DELETE", url: urlOf(address, name), signal, maxAnswerBytes: smallBytes };
      const { status, body } = await send({ ...wanted, expected: [200, 202, 204, 404] });
      const error = status === 404 ? notFound(name, body) : undefined;
      if (error instanceof StoreError) throw error;
    },
    close: transport.close,
  };
}

function isWorthRepeating(error: unknown): boolean {
  return error instanceof StoreError && (error.kind === "busy" || error.kind === "unreachable");
}

/** A bucket that does not exist is a mistake of the operator, not a lost object. */
function notFound(name: string, body: Buffer): Error {
  const code = codeOf(body);
  if (code === "NoSuchBucket") return new StoreError("noBucket", "the object store has no such bucket");
  return new ObjectLost(`the object ${name} is missing from the object store`);
}

function errorOf({ status, body }: HttpAnswer): StoreError {
  const code = codeOf(body);
  const kind = kindOfAnswer(status, code);
  return new StoreError(kind, `the object store answered ${status}${code === "" ? "" : ` ${code}`}`);
}

function codeOf(body: Buffer): string {
  return /<Code>([A-Za-z0-9.]{1,100})<\/Code>/.exec(body.subarray(0, smallBytes).toString("latin1"))?.[1] ?? "";
}

type ListedKey = { key: string; bytes: number; modified: string };

function readList(xml: string): ListedKey[] {
  const keys: ListedKey[] = [];
  let text = "";
  let one: Record<string, string> = {};
  const parser = new SaxesParser();
  parser.on("opentag", ({ name }) => {
    text = "";
    if (name === "Contents") one = {};
  });
  parser.on("text", (more) => {
    text += more;
  });
  parser.on("closetag", ({ name }) => {
    if (name === "Contents")
      keys.push({ key: one.Key ?? "", bytes: Number(one.Size), modified: one.LastModified ?? "" });
    else one[name] = text;
  });
  parser.on("error", (error) => {
    throw new StoreError("rejected", `the object store returned a malformed list: ${error.message}`);
  });
  parser.write(xml).close();
  return keys;
}
