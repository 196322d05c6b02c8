/** Reads POSTHORN_CONTENT_URL: `s3://bucket/prefix?endpoint=https://…&region=…`. Called by app/config-shapes.ts. */

export type StoreAddress = {
  bucket: string;
  /** Before the name of every object: empty, or ending with a slash. */
  prefix: string;
  /** Scheme, host and port. */
  endpoint: string;
  region: string;
  /** `path`: the bucket is the first part of the path. `virtual`: it is the first label of the host name. */
  style: "path" | "virtual";
};

export type ReadAddress = { ok: true; address: StoreAddress } | { ok: false; reason: string };

const example =
  "write for example s3://mail-content/posthorn?endpoint=https://s3.eu-central-1.amazonaws.com&region=eu-central-1";
const known = ["endpoint", "region", "style"];

export function readStoreAddress(text: string): ReadAddress {
  const no = (reason: string) => ({ ok: false as const, reason: `${reason}; ${example}` });
  if (!URL.canParse(text) || new URL(text).protocol !== "s3:") return no("must be a URL starting with s3://");
  const url = new URL(text);
  if (url.username !== "" || url.password !== "")
    return no("must not have credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  const bucket = url.hostname;
  if (!/^[a-zA-Z0-9][a-zA-Z0-9._-]{1,61}[a-zA-Z0-9]$/.test(bucket))
    return no("must name a bucket of 3 to 63 characters");
  const path = url.pathname.replace(/^\/+|\/+$/g, "");
  if (!/^([A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*)?$/.test(path))
    return no("the prefix may have only letters, digits, dots, hyphens, underscores and single slashes");
  for (const name of url.searchParams.keys()) if (!known.includes(name)) return no(`has the unknown option ${name}`);
  const region = url.searchParams.get("region") ?? "us-east-1";
  if (!/^[a-z0-9-]{1,64}$/.test(region)) return no("has a malformed region");
  const endpoint = url.searchParams.get("endpoint") ?? `https://s3.${region}.amazonaws.com`;
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol))
    return no("its endpoint must be a URL starting with https:// or http://");
  const { origin, pathname, search } = new URL(endpoint);
  if (pathname !== "/" || search !== "") return no("its endpoint must not have a path");
  const style = url.searchParams.get("style") ?? "path";
  if (style !== "path" && style !== "virtual") return no("its style must be path or virtual");
  return { ok: true, address: { bucket, prefix: path === "" ? "" : `${path}/`, endpoint: origin, region, style } };
}

/** The URL of an object, or of the bucket. */
export function urlOf({ bucket, prefix, endpoint, style }: StoreAddress, name?: string): URL {
  const url = new URL(endpoint);
  if (style === "virtual") url.hostname = `${bucket}.${url.hostname}`;
  const inBucket = name === undefined ? "" : `/${prefix}${name}`;
  url.pathname = style === "virtual" ? inBucket : `/${bucket}${inBucket}`;
  return url;
}

/** For people: without the credentials, which are not part of it. */
export function describeAddress({ bucket, prefix, endpoint }: StoreAddress): string {
  return `s3://${bucket}/${prefix} at ${endpoint}`;
}
