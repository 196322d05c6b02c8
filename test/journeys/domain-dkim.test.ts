/** The way of a receiver: from the selector in a signature by the customer's CNAME to the key in our zone. */
import assert from "node:assert/strict";
import { createPrivateKey } from "node:crypto";
import { Resolver } from "node:dns/promises";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { dkimVerify } from "mailauth/lib/dkim/verify.js";
import { signDkim } from "../../src/mail/dkim.ts";
import { createSecrets } from "../../src/store/secrets.ts";
import { readSigning } from "../../src/store/sending-domains.ts";
import {
  type CustomerWorld,
  recordOf,
  startCustomerWorld,
  type WireDomain,
  withoutPeers,
  zone,
} from "../harness/customer.ts";
import { needs } from "../harness/foreign.ts";
import { runPeer } from "../harness/peer.ts";
import { runCommand, testSecret } from "../harness/program.ts";

const skip = withoutPeers;

describe("a domain's DKIM keys in DNS", () => {
  let world: CustomerWorld;
  let domain: WireDomain;
  before(async () => {
    if (skip) return;
    world = await startCustomerWorld(["shop.test"]);
    domain = await world.add("shop.test");
    await world.bind.add(...domain.records.dkimRecords);
  });
  after(async () => await world?.stop());

  /** What the store holds, as the delivery would read it. */
  async function storedKeys() {
    const id = domain.id.replace(/^dom_/, "");
    const [row] = await world.database.sql<{ w: string }[]>`select workspace_id as w from domains where id = ${id}`;
    const signing = (await readSigning(world.database.sql, row!.w, id)) ?? assert.fail();
    const secrets = createSecrets(testSecret);
    return signing.keys.map((key) => ({
      selector: `ph${key.slot}`,
      privateKey: createPrivateKey(secrets.open(key.privateKeySealed, `dkim ${key.id}`)),
    }));
  }

  async function verdict(selector: string, privateKey: ReturnType<typeof createPrivateKey>) {
    const message = Buffer.from(
      "From: Shop <news@shop.test>\r\nTo: b@there.test\r\nSubject: Hello\r\nDate: Sun, 04 Jan 2026 10:00:00 +0000\r\n\r\nHello\r\n",
    );
    const signature = await signDkim(message, { domain: "shop.test", selector, signedAt: new Date() }, privateKey);
    const resolver = new Resolver();
    resolver.setServers([`127.0.0.1:${world.unbound.port}`]);
    const { results } = await dkimVerify(Buffer.concat([Buffer.from(signature), message]), {
      resolver: async (name: string, type: string) => (await resolver.resolve(name, type)) as string[] | string[][],
    });
    return results.map((one: { status: { result: string } }) => one.status.result);
  }

  it("are reached by dig through the customer's CNAME", { skip }, async () => {
    for (const { name, value } of domain.records.dkimRecords) {
      const [alias, text] = (await world.dig(world.unbound, name, "TXT", "+short")).trim().split("\n");
      assert.equal(alias, `${value}.`);
      assert.match(text ?? "", /^"v=DKIM1; k=rsa; p=MII[^"]+" "[^"]+"$/);
    }
  });

  it("make mailauth accept what is signed with the stored keys, and nothing else", { skip }, async () => {
    const [first, second] = await storedKeys();
    assert.ok(first && second);
    assert.deepEqual(await verdict(first.selector, first.privateKey), ["pass"]);
    assert.deepEqual(await verdict(second.selector, second.privateKey), ["pass"]);
    assert.deepEqual(await verdict(first.selector, second.privateKey), ["fail"]);
  });

  it("are in the zone as the command line exports it", {
    skip: skip || needs("named-checkzone"),
  }, async () => {
    const { dataDir } = world.program;
    const { code, stdout } = await runCommand(["domains", "zone"], { dataDir, databaseUrl: world.database.url });
    assert.equal(code, 0);
    assert.ok(stdout.includes(`${recordOf(domain, "dkim1").value}.\t3600\tIN\tTXT\t"v=DKIM1;`));
    const file = join(dataDir, "zone");
    await writeFile(file, stdout);
    assert.match(await runPeer("named-checkzone", ["-i", "full-sibling", zone, file]), /OK\n$/);
  });

  it("stay for mail on its way when the domain is deleted, and go a week after the last of it", { skip }, async () => {
    const keys = await storedKeys();
    const deleted = await world.program.call("DomainService/DeleteDomain", { id: domain.id });
    assert.match(String(deleted.body.message), /shop\.test is deleted/);
    assert.equal((await world.program.call("DomainService/GetDomain", { id: domain.id })).body.code, "not_found");
    assert.deepEqual(await verdict(keys[0]!.selector, keys[0]!.privateKey), ["pass"]);
    await world.database.sql`update domains set deleted_at = now() - interval '8 days'`;
    // Another server on the same database, which has not been asked for the key before.
    const { dataDir } = world.program;
    const { stdout } = await runCommand(["domains", "zone"], { dataDir, databaseUrl: world.database.url });
    assert.ok(!stdout.includes("v=DKIM1"));
  });
});
