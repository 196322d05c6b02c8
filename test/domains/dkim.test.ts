/** DKIM keys as a receiver finds them: from the selector in a signature through the customer's CNAME to the key in our zone. */
import assert from "node:assert/strict";
import { createPrivateKey } from "node:crypto";
import { Resolver } from "node:dns/promises";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { dkimVerify } from "mailauth/lib/dkim/verify.js";
import { readSigning } from "../../src/domains/store/sending.ts";
import { signDkim } from "../../src/mail/dkim.ts";
import { createSecrets } from "../../src/postgres/sealing.ts";
import {
  type CustomerTestbed,
  recordOf,
  startCustomerTestbed,
  type WireDomain,
  withoutPeers,
  zone,
} from "../harness/customer.ts";
import { needs } from "../harness/foreign.ts";
import { runPeer } from "../harness/peer.ts";
import { runCommand, testSecret } from "../harness/program.ts";

const skip = withoutPeers;

describe("a domain's DKIM keys in DNS", () => {
  let testbed: CustomerTestbed;
  let domain: WireDomain;
  before(async () => {
    if (skip) return;
    testbed = await startCustomerTestbed(["shop.test"]);
    domain = await testbed.add("shop.test");
    await testbed.bind.add(...domain.records.dkimRecords);
  });
  after(async () => await testbed?.stop());

  /** The private keys in the store, read in the same way as delivery reads them. */
  async function storedKeys() {
    const id = domain.id.replace(/^dom_/, "");
    const [row] = await testbed.database.sql<{ w: string }[]>`select workspace_id as w from domains where id = ${id}`;
    const signing = (await readSigning(testbed.database.sql, row!.w, id)) ?? assert.fail();
    const secrets = createSecrets(testSecret);
    return signing.keys.map((key) => ({
      selector: key.selector,
      privateKey: createPrivateKey(secrets.open(key.privateKeySealed, `dkim ${key.id}`)),
    }));
  }

  async function verdict(selector: string, privateKey: ReturnType<typeof createPrivateKey>) {
    const message = Buffer.from(
      "From: Shop <news@shop.test>\r\nTo: b@there.test\r\nSubject: Hello\r\nDate: Sun, 04 Jan 2026 10:00:00 +0000\r\n\r\nHello\r\n",
    );
    const signature = await signDkim(message, { domain: "shop.test", selector, signedAt: new Date() }, privateKey);
    const resolver = new Resolver();
    resolver.setServers([`127.0.0.1:${testbed.unbound.port}`]);
    const { results } = await dkimVerify(Buffer.concat([Buffer.from(signature), message]), {
      resolver: async (name: string, type: string) => (await resolver.resolve(name, type)) as string[] | string[][],
    });
    return results.map((one: { status: { result: string } }) => one.status.result);
  }

  it("are found by dig through the customer's CNAME", { skip }, async () => {
    for (const { name, value } of domain.records.dkimRecords) {
      const [alias, text] = (await testbed.dig(testbed.unbound, name, "TXT", "+short")).trim().split("\n");
      assert.equal(alias, `${value}.`);
      assert.match(text ?? "", /^"v=DKIM1; k=rsa; p=MII[^"]+" "[^"]+"$/);
    }
  });

  it("let mailauth verify signatures of the stored keys, and no others", { skip }, async () => {
    const [first, second] = await storedKeys();
    assert.ok(first && second);
    assert.deepEqual(await verdict(first.selector, first.privateKey), ["pass"]);
    assert.deepEqual(await verdict(second.selector, second.privateKey), ["pass"]);
    assert.deepEqual(await verdict(first.selector, second.privateKey), ["fail"]);
  });

  it("are in the zone that posthorn domains zone exports", {
    skip: skip || needs("named-checkzone"),
  }, async () => {
    const { dataDir } = testbed.program;
    const { code, stdout } = await runCommand(["domains", "zone"], { dataDir, databaseUrl: testbed.database.url });
    assert.equal(code, 0);
    assert.ok(stdout.includes(`${recordOf(domain, "dkim1").value}.\t3600\tIN\tTXT\t"v=DKIM1;`));
    const file = join(dataDir, "zone");
    await writeFile(file, stdout);
    assert.match(await runPeer("named-checkzone", ["-i", "full-sibling", zone, file]), /OK\n$/);
  });

  it("stay published for a week after the domain is deleted, for mail in transit", { skip }, async () => {
    const keys = await storedKeys();
    const deleted = await testbed.program.call("DomainService/DeleteDomain", { id: domain.id });
    assert.match(String(deleted.body.message), /shop\.test is deleted/);
    assert.equal((await testbed.program.call("DomainService/GetDomain", { id: domain.id })).body.code, "not_found");
    assert.deepEqual(await verdict(keys[0]!.selector, keys[0]!.privateKey), ["pass"]);
    await testbed.database.sql`update domains set deleted_at = now() - interval '8 days'`;
    // A new process on the same database, which has not cached the key.
    const { dataDir } = testbed.program;
    const { stdout } = await runCommand(["domains", "zone"], { dataDir, databaseUrl: testbed.database.url });
    assert.ok(!stdout.includes("v=DKIM1"));
  });
});
