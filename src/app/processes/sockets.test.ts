import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { after, before, describe, it } from "node:test";
import { readConfig } from "../config.ts";
import { bindSockets } from "./sockets.ts";

describe("the sockets of all processes", { timeout: 10_000 }, () => {
  let other: Server;
  let taken: string;
  before(async () => {
    other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    taken = `127.0.0.1:${(other.address() as AddressInfo).port}`;
  });
  after(() => other.close());

  const bind = async (env: NodeJS.ProcessEnv) =>
    await bindSockets(
      readConfig({
        POSTHORN_HTTP: "127.0.0.1:0",
        POSTHORN_SMTP: "127.0.0.1:0",
        POSTHORN_SUBMISSION: "off",
        POSTHORN_SUBMISSIONS: "off",
        POSTHORN_DNS: "127.0.0.1:0",
        ...env,
      }),
      { warn() {} },
    );

  it("have free ports, DNS the same one for TCP and UDP", async () => {
    const sockets = await bind({});
    assert.deepEqual([...sockets.bound.keys()], ["dnsTcp", "dnsUdp", "smtp", "http"]);
    for (const { port } of sockets.bound.values()) assert.ok(port > 0);
    assert.equal(sockets.bound.get("dnsTcp")!.port, sockets.bound.get("dnsUdp")!.port);
    sockets.close();
  });

  for (const name of ["POSTHORN_HTTP", "POSTHORN_SMTP", "POSTHORN_SUBMISSION", "POSTHORN_DNS"])
    it(`refuses a port of ${name} that is in use`, async () => {
      const binding = bind({ [name]: taken }).then((sockets) => sockets.close());
      await assert.rejects(binding, { code: "EADDRINUSE", message: new RegExp(`address already in use ${taken}`) });
    });
});
