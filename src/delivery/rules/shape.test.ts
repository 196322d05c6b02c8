import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { foldReply } from "./shape.ts";

const recipient = "jo.miller@example.test";

const cases: [text: string, shape: string][] = [
  ["Mail refused [CS01], see https://there.test/x?id=7", "Mail refused [CS01], see <url>"],
  ["5.7.1 Rejected by mx4.there.test at 1700000000", "5.7.1 Rejected by <host> at <n>"],
  ["Blocked: 192.0.2.1 and 2001:db8::1", "Blocked: <ip> and <ip>"],
  ["queue id 4XyZ12abc (in 0.5 s)", "queue id <id> (in <host> s)"],
  ["RESOLVER.ADR.Odd; odd", "RESOLVER.ADR.Odd; odd"],
  ["OFR_999 [999] 12 13 14", "OFR_999 [<n>] <n>"],
  ["Boîte pleine", "Boîte pleine"],
  ["<jo.miller@example.test>: odd", "<address> odd"],
  ["to jo.miller, alias JO.MILLER+x, Miller", "to <address> alias <address>"],
  ["jo.miller%40example.test jo=example.test@there.test", "<address>"],
  ["at example.test and MX.EXAMPLE.TEST", "at <host> and <host>"],
  ["a\u0000b\r\nc \u202e d", "a b c d"],
  ["rcpt=Miller (Miller's box), Miller/Jo and jo_miller, JOMILLER", "<address> box), <address> and <address>"],
  ["jo.mil\u00adler and mil\u200bler", "<address> and <address>"],
  ["Sending domain EXAMPLE.COM and SHOP.Example", "Sending domain <host> and <host>"],
  ["OFR004_104 [104]", "OFR004_104 [<n>]"],
];

for (const [text, shape] of cases) {
  test(`${JSON.stringify(text)} is folded`, () => assert.equal(foldReply(text, recipient), shape));
}

test("a short mailbox, its part before the plus sign and another Unicode form do not survive", () => {
  assert.equal(foldReply("user:li is away, li", "li@example.test"), "<address> is away, <address>");
  assert.equal(foldReply("user=li is away", "li+news@example.test"), "<address> is away");
  assert.equal(foldReply("Box Rene\u0301 is away", "ren\u00e9@example.test"), "Box <address> is away");
  assert.equal(foldReply("ann\uff20localhost is away", recipient), "<address> is away");
});

test("a surname that the mailbox contains does not survive, and a short common word does", () => {
  assert.equal(
    foldReply("User Miller (J. Miller) is away", "jmiller@example.test"),
    "User <address> (J. <address> is away",
  );
  assert.equal(foldReply("this user has no mail", "usermail@example.test"), "this user has no mail");
});

test("two replies of one wording have one shape", () => {
  const reply = (address: string, id: string, ip: string) =>
    `Sorry, ${address} wants nothing from [${ip}] today (${id})`;
  assert.equal(
    foldReply(reply("ann@a.test", "4ZkQ1x8", "192.0.2.1"), "ann@a.test"),
    foldReply(reply("bob.long@b.test", "9PpW2", "2001:db8::7"), "bob.long@b.test"),
  );
});

test("a shape has at most 200 characters and no half words", () => {
  const shape = foldReply("word ".repeat(500), recipient);
  assert.ok(shape.length <= 200 && shape.endsWith("word"), shape);
  // The text is cut within the address.
  assert.doesNotMatch(foldReply(`${"z ".repeat(498)}jo.miller@example.test`, recipient), /jo|mil/);
});

const letters = fc.string({
  unit: fc.constantFrom(..."abcdeghknpqrstuvwxyzäé0123456789"),
  minLength: 3,
  maxLength: 12,
});
const domain = fc.tuple(letters, fc.constantFrom("test", "example")).map((labels) => labels.join("."));
const mailbox = fc.oneof(
  letters,
  fc.tuple(letters, fc.constantFrom(".", "+", "-", "_"), letters).map((parts) => parts.join("")),
);

test("no form of the recipient's address survives", () => {
  fc.assert(
    fc.property(
      mailbox,
      domain,
      fc.array(fc.constantFrom("no", "mail", "for", "is"), { maxLength: 6 }),
      (name, at, words) => {
        const forms = [
          `<${name}@${at}>`,
          `${name.toUpperCase()}@${at}`,
          `"${name}"`,
          `${name}:`,
          `rcpt=${name}`,
          `${name}'s`,
          ...name
            .split(/[.+_-]/)
            .filter((part) => part.length >= 3)
            .map((part) => `user=${part}`),
          `bounce+${name}=${at}@there.test`,
          `${name}%40${at}`,
          `http://there.test/?${name}`,
        ];
        for (const form of forms) {
          const shape = foldReply([...words, form, ...words].join(" "), `${name}@${at}`).toLowerCase();
          const rest = shape.replaceAll(/<(?:address|host|url|id|n|ip)>/g, "");
          assert.doesNotMatch(rest, /user=[^<]/, form);
          assert.ok(!rest.includes(name.toLowerCase()) && !rest.includes(at), `${form}: ${shape}`);
        }
      },
    ),
    { numRuns: 500 },
  );
});

test("a hostile reply is folded in linear time", () => {
  for (const text of ["a.".repeat(500_000), ":".repeat(1_000_000), "(".repeat(1_000_000), "1 ".repeat(500_000)])
    assert.ok(foldReply(text, recipient).length <= 200);
});
