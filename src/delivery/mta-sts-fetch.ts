/** Fetches one MTA-STS policy file over HTTPS from an address that has passed the guard: RFC 8461 §3.3, no redirects, small, in time. */
import https from "node:https";

export type PolicyRequest = { host: string; address: string; port: number; signal: AbortSignal };

const maxBytes = 64 * 1024;
const timeoutMs = 10_000;

export function fetchPolicyFile({ host, address, port, signal }: PolicyRequest): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = https.get({
      ...{ host: address, port, path: "/.well-known/mta-sts.txt", servername: host, agent: false },
      headers: { host: port === 443 ? host : `${host}:${port}`, accept: "text/plain" },
      rejectUnauthorized: true,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    request.on("error", reject);
    request.on("response", (response) => {
      const type = String(response.headers["content-type"] ?? "");
      const wrong =
        response.statusCode !== 200
          ? `${host} answered ${response.statusCode}`
          : /^text\/plain\b/i.test(type)
            ? undefined
            : `${host} answered with ${type || "no type"} in place of text/plain`;
      if (wrong) {
        request.destroy();
        return reject(new Error(wrong));
      }
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        chunks.push(chunk);
        if (bytes > maxBytes) request.destroy(new Error(`the policy of ${host} is larger than ${maxBytes} bytes`));
      });
      response.on("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
      response.on("error", reject);
    });
  });
}
