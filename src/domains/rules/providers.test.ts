import assert from "node:assert/strict";
import { test } from "node:test";
import { providerIds, providerOf } from "./providers.ts";

const servers: Record<string, string[]> = {
  cloudflare: ["ada.ns.cloudflare.com", "bob.ns.cloudflare.com."],
  route53: ["ns-1.awsdns-00.com", "ns-600.awsdns-11.net", "ns-1500.awsdns-59.org", "ns-1700.awsdns-20.co.uk"],
  godaddy: ["NS01.DomainControl.com"],
  namecheap: ["dns1.registrar-servers.com"],
  hetzner: ["helium.ns.hetzner.de", "oxygen.ns.hetzner.com", "ns1.first-ns.de", "robotns3.second-ns.com"],
  ovh: ["dns10.ovh.net", "ns10.ovh.net"],
  gandi: ["ns-1-a.gandi.net"],
  google: ["ns-cloud-a1.googledomains.com"],
  digitalocean: ["ns1.digitalocean.com"],
  azure: ["ns1-01.azure-dns.com", "ns2-01.azure-dns.net"],
  ionos: ["ns1045.ui-dns.de", "ns1022.ui-dns.biz"],
  netlify: ["dns1.p05.nsone.net"],
  vercel: ["ns1.vercel-dns.com"],
  dnsimple: ["ns1.dnsimple.com", "ns2.dnsimple-edge.net"],
  porkbun: ["curitiba.ns.porkbun.com"],
  "name-com": ["ns1kpv.name.com"],
  njalla: ["1-you.njalla.no", "2-can.njalla.in"],
  bunny: ["kiki.bunny.net"],
  linode: ["ns1.linode.com"],
  desec: ["ns1.desec.io", "ns2.desec.org"],
};

test("every provider is recognized by its name servers, in any letter case, and has a page and quirks", () => {
  assert.deepEqual(Object.keys(servers).toSorted(), providerIds.toSorted());
  for (const [id, names] of Object.entries(servers)) {
    const found = providerOf("contoso.test", names);
    assert.equal(found?.id, id);
    assert.equal(new URL(found!.dnsUrl).protocol, "https:");
    assert.doesNotMatch(found!.dnsUrl, /[{}]/);
    assert.ok(found!.quirks.length > 0 && found!.quirks.every((one) => /^[A-Z].*\.$/.test(one)), id);
  }
});

test("the provider of most name servers wins; unknown and look-alike names have none", () => {
  assert.equal(
    providerOf("a.test", ["ns1.linode.com", "x.ns.cloudflare.com", "y.ns.cloudflare.com"])?.id,
    "cloudflare",
  );
  assert.equal(providerOf("a.test", ["ns1.a.test"]), undefined);
  assert.equal(providerOf("a.test", ["ns1.evil-linode.com", "ns.linode.com.a.test"]), undefined);
  assert.equal(providerOf("a.test", []), undefined);
});
