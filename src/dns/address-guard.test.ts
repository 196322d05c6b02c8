import assert from "node:assert/strict";
import { test } from "node:test";
import { createAddressGuard, isPublicAddress } from "./address-guard.ts";

const publicAddresses = [
  "1.1.1.1",
  "8.8.8.8",
  "172.15.255.255",
  "172.32.0.1",
  "100.63.255.255",
  "100.128.0.1",
  "223.255.255.254",
  "168.63.129.15",
  "168.63.129.17",
  "2606:4700:4700::1111",
  "2a00:1450:4001:800::2003",
  "::ffff:8.8.8.8",
  "64:ff9b::8.8.8.8",
  "2002:808:808::1",
];

const specialAddresses: [address: string, why: string][] = [
  ["127.0.0.1", "loopback"],
  ["127.255.255.254", "loopback"],
  ["0.0.0.0", "unspecified"],
  ["0.1.2.3", "this network"],
  ["10.0.0.1", "private"],
  ["172.16.0.1", "private"],
  ["172.31.255.255", "private"],
  ["192.168.1.1", "private"],
  ["169.254.169.254", "link-local, metadata"],
  ["100.64.0.1", "carrier-grade NAT"],
  ["100.100.100.200", "carrier-grade NAT, metadata"],
  ["192.0.0.192", "protocol assignments, metadata"],
  ["168.63.129.16", "Azure's wire server, in public space"],
  ["::ffff:168.63.129.16", "mapped wire server"],
  ["::ffff:a83f:8110", "mapped wire server, hexadecimal"],
  ["64:ff9b::168.63.129.16", "NAT64 of the wire server"],
  ["64:ff9b:1::168.63.129.16", "local NAT64 of the wire server"],
  ["2002:a83f:8110::1", "6to4 of the wire server"],
  ["2001:0:a83f:8110::", "Teredo server at the wire server"],
  ["2a00:1450::5efe:168.63.129.16", "ISATAP of the wire server"],
  ["169.254.169.253", "link-local, Amazon's DNS"],
  ["169.254.170.2", "link-local, Amazon's container credentials"],
  ["169.254.0.23", "link-local, Tencent's metadata"],
  ["192.0.2.1", "documentation"],
  ["198.51.100.1", "documentation"],
  ["203.0.113.1", "documentation"],
  ["198.18.0.1", "benchmarking"],
  ["192.88.99.1", "6to4 relay"],
  ["224.0.0.1", "multicast"],
  ["240.0.0.1", "reserved"],
  ["255.255.255.255", "broadcast"],
  ["::1", "loopback"],
  ["::", "unspecified"],
  ["fe80::1", "link-local"],
  ["fe80::1%eth0", "link-local with zone"],
  ["2606:4700::1%eth0", "zone index"],
  ["fec0::1", "site-local"],
  ["fc00::1", "unique local"],
  ["fd00:ec2::254", "unique local, metadata"],
  ["fd20:ce::254", "unique local, Google's metadata"],
  ["fe80::a9fe:a9fe", "link-local, OpenStack's metadata"],
  ["64:ff9b::a9fe:a9fe", "NAT64 of metadata"],
  ["64:ff9b::6464:64c8", "NAT64 of metadata in carrier-grade NAT"],
  ["64:ff9b:1::a9fe:a9fe", "local NAT64 of metadata"],
  ["64:ff9b:1:ffff:a9:fea9:fe00:0", "local NAT64 with another prefix length"],
  ["2002:a9fe:a9fe::1", "6to4 of metadata"],
  ["2002:c000:c0::1", "6to4 of Oracle's metadata"],
  ["ff02::1", "multicast"],
  ["2001:db8::1", "documentation"],
  ["3fff::1", "documentation"],
  ["100::1", "discard"],
  ["::ffff:127.0.0.1", "mapped loopback"],
  ["::ffff:7f00:1", "mapped loopback, hexadecimal"],
  ["::ffff:169.254.169.254", "mapped metadata"],
  ["::127.0.0.1", "compatible loopback"],
  ["::8.8.8.8", "compatible, long withdrawn"],
  ["::ffff:0:8.8.8.8", "translated"],
  ["64:ff9b::10.0.0.1", "NAT64 of private"],
  ["64:ff9b::7f00:1", "NAT64 of loopback"],
  ["64:ff9b:1::8.8.8.8", "local NAT64"],
  ["2002:7f00:1::1", "6to4 of loopback"],
  ["2002:a00:1::1", "6to4 of private"],
  ["2002:c0a8:101::1", "6to4 of private"],
  ["2001:0:7f00:1::", "Teredo server on loopback"],
  ["2001:0:808:808:0:0:f5ff:fffe", "Teredo client in private"],
  ["2a00:1450::5efe:10.0.0.1", "ISATAP of private"],
  ["2a00:1450::200:5efe:a00:1", "ISATAP of private"],
  ["2001:10::1", "ORCHID"],
  ["2001:2::1", "benchmarking"],
  ["4000::1", "not allocated"],
  ["5f00::1", "segment routing"],
  ["", "empty"],
  ["localhost", "a name"],
  ["example.test", "a name"],
  ["2130706433", "a number"],
  ["0x7f.0.0.1", "hexadecimal"],
  ["0177.0.0.1", "octal"],
  ["127.1", "shortened"],
  ["8.8.8", "shortened"],
  ["8.8.8.8 ", "white space"],
  ["[::1]", "brackets"],
  ["8.8.8.8/32", "a range"],
];

for (const address of publicAddresses) {
  test(`${address} is public`, () => assert.ok(isPublicAddress(address)));
}
for (const [address, why] of specialAddresses) {
  test(`${JSON.stringify(address)} is not public: ${why}`, () => assert.ok(!isPublicAddress(address)));
}

test("an operator can allow ranges, and only these ranges become reachable", () => {
  const allow = createAddressGuard({ allowCidrs: ["127.0.0.0/8", "fd00::/8", "10.1.2.3"] });
  for (const ip of ["127.0.0.1", "::ffff:127.0.0.1", "fd00::1", "10.1.2.3", "8.8.8.8"]) assert.ok(allow(ip), ip);
  for (const ip of ["10.1.2.4", "::1", "192.168.0.1", "fe80::1", "64:ff9b::7f00:1", "localhost"])
    assert.ok(!allow(ip), ip);
  assert.ok(!createAddressGuard({ allowCidrs: [] })("127.0.0.1"));
});

test("an invalid range throws when the guard is created", () => {
  for (const cidr of ["10.0.0.0/33", "fd00::/129", "10.0.0.0/", "ten/8", "10.0.0.0/-1", "10.0.0.0/8.5"]) {
    assert.throws(() => createAddressGuard({ allowCidrs: [cidr] }), /not an address range/, cidr);
  }
});
