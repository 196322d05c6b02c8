/** Functions that verify the signature of a request with nothing but the standard library. verify-code.test.ts runs them. */

const node = `import { createHmac, timingSafeEqual } from "node:crypto";

export function verify(rawBody, headers) {
  const key = Buffer.from(process.env.POSTHORN_WEBHOOK_SECRET.replace(/^whsec_/, ""), "base64");
  const id = headers["webhook-id"], sentAt = headers["webhook-timestamp"];
  if (!(Math.abs(Date.now() / 1000 - Number(sentAt)) <= 300)) throw new Error("too old");
  const ours = createHmac("sha256", key).update(\`\${id}.\${sentAt}.\${rawBody}\`).digest();
  const given = headers["webhook-signature"].split(" ").map((one) => Buffer.from(one.replace(/^v1,/, ""), "base64"));
  if (!given.some((one) => one.length === ours.length && timingSafeEqual(one, ours))) throw new Error("not from Posthorn");
  return JSON.parse(rawBody);
}
`;

const python = `import base64, hashlib, hmac, json, os, time

def verify(raw_body: bytes, headers) -> dict:
    key = base64.b64decode(os.environ["POSTHORN_WEBHOOK_SECRET"].removeprefix("whsec_"))
    event_id, sent_at = headers["webhook-id"], headers["webhook-timestamp"]
    if abs(time.time() - int(sent_at)) > 300:
        raise ValueError("too old")
    digest = hmac.new(key, f"{event_id}.{sent_at}.".encode() + raw_body, hashlib.sha256).digest()
    ours = "v1," + base64.b64encode(digest).decode()
    if not any(hmac.compare_digest(ours, given) for given in headers["webhook-signature"].split()):
        raise ValueError("not from Posthorn")
    return json.loads(raw_body)
`;

export const verifySnippets: readonly { id: string; label: string; code: string }[] = [
  { id: "node", label: "Node.js", code: node },
  { id: "python", label: "Python", code: python },
];
