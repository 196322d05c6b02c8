import assert from "node:assert/strict";
import { test } from "node:test";
import { readStoreAddress, urlOf } from "./address.ts";

function read(text: string) {
  const found = readStoreAddress(text);
  if (!found.ok) throw new Error(found.reason);
  return found.address;
}

test("the URL names bucket, prefix, endpoint, region and style", () => {
  const address = read("s3://mail/posthorn/one/?endpoint=https://s3.example.com:9000&region=eu-1");
  assert.deepEqual(address, {
    bucket: "mail",
    prefix: "posthorn/one/",
    endpoint: "https://s3.example.com:9000",
    region: "eu-1",
    style: "path",
  });
  assert.equal(urlOf(address, "objects/a").href, "https://s3.example.com:9000/mail/posthorn/one/objects/a");
  assert.equal(urlOf(address).href, "https://s3.example.com:9000/mail");
  const virtual = read("s3://mail?endpoint=https://s3.example.com&style=virtual");
  assert.equal(urlOf(virtual, "objects/a").href, "https://mail.s3.example.com/objects/a");
  assert.equal(urlOf(virtual).href, "https://mail.s3.example.com/");
});

test("without an endpoint, the bucket is at Amazon S3 in the region", () => {
  assert.equal(urlOf(read("s3://mail?region=eu-central-1"), "a").href, "https://s3.eu-central-1.amazonaws.com/mail/a");
});

test("mistakes are named", () => {
  for (const [text, reason] of [
    ["https://mail", /starting with s3/],
    ["s3://key:secret@mail", /AWS_ACCESS_KEY_ID/],
    ["s3://m", /bucket/],
    ["s3://mail/a b", /prefix/],
    ["s3://mail/../x?endpoint=ftp://x", /endpoint/],
    ["s3://mail?endpoint=https://x/path", /must not have a path/],
    ["s3://mail?zone=eu", /unknown option zone/],
    ["s3://mail?region=EU%20", /region/],
    ["s3://mail?style=dns", /style/],
  ] as const) {
    const found = readStoreAddress(text);
    assert.ok(!found.ok && reason.test(found.reason), text);
  }
});
