/** The content of an email: address objects, HTML from React components, text from HTML, as the server receives them. */
import assert from "node:assert/strict";
import { PassThrough, Readable } from "node:stream";
import { after, before, test } from "node:test";
import { createElement as h } from "react";
import { EmailService, type SendEmailRequest as Wire } from "../../src/gen/v1/email_pb.ts";
import { SuppressionService } from "../../src/gen/v1/suppression_pb.ts";
import { PosthornError, type SendEmail } from "../src/index.ts";
import { type Peer, rejection, startPeer } from "./peer.ts";

let peer: Peer;
let received: Wire[] = [];
const suppressed: string[] = [];

before(async () => {
  peer = await startPeer({
    routes: (router) => {
      router.service(EmailService, {
        sendEmail(request) {
          received.push(request);
          return { id: "em_1" };
        },
        sendEmailBatch({ emails }) {
          received.push(...emails);
          return {};
        },
      });
      router.service(SuppressionService, {
        addSuppression({ address }) {
          suppressed.push(`add ${address}`);
          return { suppression: { address } };
        },
        removeSuppression({ address }) {
          suppressed.push(`remove ${address}`);
          return {};
        },
      });
    },
  });
});

after(() => peer.close());

const base = { from: "shop@example.com", to: "ada@example.net", subject: "Hello" };

async function sent(email: Partial<SendEmail>): Promise<Wire> {
  received = [];
  await peer.client.emails.send({ ...base, ...email });
  return received[0]!;
}

async function problem(email: unknown): Promise<PosthornError> {
  const error = await rejection<PosthornError>(peer.client.emails.send({ ...base, ...(email as Partial<SendEmail>) }));
  assert.ok(error instanceof PosthornError, String(error));
  return error;
}

test("every address may be an object with a name", async () => {
  const email = await sent({
    from: { name: "The Shop, Inc.", address: "shop@example.com" },
    to: [{ address: "ada@example.net" }, "Grace <grace@example.net>"],
    cc: { name: "Carl", address: "carl@example.net" },
    bcc: [{ name: 'B. "Bea"', address: "bea@example.net" }],
    replyToAddresses: { name: "Hilfe ✓", address: "help@example.com" },
  });
  assert.equal(email.from, '"The Shop, Inc." <shop@example.com>');
  assert.deepEqual(email.to, ["ada@example.net", "Grace <grace@example.net>"]);
  assert.deepEqual(email.cc, ['"Carl" <carl@example.net>']);
  assert.deepEqual(email.bcc, ['"B. \\"Bea\\"" <bea@example.net>']);
  assert.deepEqual(email.replyToAddresses, ['"Hilfe ✓" <help@example.com>']);
  await peer.client.suppressions.add({ name: "Ada", address: "ada@example.net" });
  await peer.client.suppressions.remove({ name: "Ada", address: "ada@example.net" });
  assert.deepEqual(suppressed, ["add ada@example.net", "remove ada@example.net"]);
});

test("text is made from HTML, except if the email has a text, or an empty one", async () => {
  assert.equal((await sent({ html: "<p>Hello <b>Ada</b></p><p>Bye</p>" })).body, "Hello Ada\n\nBye");
  assert.equal((await sent({ html: "<p>Hello</p>", body: "My own" })).body, "My own");
  assert.equal((await sent({ html: "<p>Hello</p>", body: "" })).body, "");
  assert.equal((await sent({ body: "Only text" })).html, "");
  received = [];
  await peer.client.emails.sendBatch([{ ...base, html: "<p>One</p>" }]);
  assert.equal(received[0]!.body, "One");
});

function Welcome({ name }: { name: string }) {
  const preview = { style: { display: "none" }, "data-skip-in-text": true };
  const body = h("body", null, h("div", preview, "Preview"), h("h1", null, `Hi ${name}`), link());
  return h("html", null, h("head", null), body);
}
const link = () => h("a", { href: "https://example.com/?a=1&b=2" }, "Open");

test("a React component is rendered to HTML and text", async () => {
  const { html, body } = await sent({ react: h(Welcome, { name: "Ada <3" }) });
  assert.match(html, /<h1>Hi Ada &lt;3<\/h1>/);
  assert.equal(body, "Hi Ada <3\n\nOpen <https://example.com/?a=1&b=2>");
  async function Later() {
    return await new Promise<ReturnType<typeof link>>((resolve) => setTimeout(() => resolve(link()), 5));
  }
  assert.match((await sent({ react: h(Later) })).html, /Open<\/a>/);
});

test("wrong content is rejected with the field and the fix", async () => {
  const Broken = () => {
    throw new Error("no such customer");
  };
  const wrong: [email: object, field: string, message: RegExp][] = [
    [{ react: Welcome }, "react", /is a component: pass an element/],
    [{ react: "<p>Hi</p>" }, "react", /must be a React element, such as <Welcome \/>, not a string/],
    [{ react: h(Welcome, { name: "Ada" }), html: "<p>Hi</p>" }, "react", /cannot be combined with html/],
    [{ react: h(Broken) }, "react", /cannot be rendered: no such customer/],
    [{ html: 7 }, "html", /must be a string, not 7/],
    [{ html: Buffer.from("<p>") }, "html", /not a Buffer/],
    [{ to: 7 }, "to", /must be an address such as/],
    [{ to: [["a@example.net"]] }, "to[0]", /must be an address such as/],
    [{ from: 7 }, "from", /must be a string/],
    [{ to: { email: "a@example.net" } }, "to.email", /is called address here/],
    [{ replyTo: { address: "help@example.com" } }, "replyTo", /Use replyToAddresses/],
    [{ references: 7 }, "references", /string or an array/],
    [{ attachments: { path: "a" } }, "attachments", /must be an array/],
    [{ constructor: "x" }, "constructor", /is not a field of an email$/],
  ];
  const requestsBefore = peer.requests.length;
  for (const [email, field, message] of wrong) {
    const error = await problem(email);
    assert.equal(error.code, "invalid_argument", error.message);
    assert.equal(error.violations[0]!.field, field, error.message);
    assert.match(error.message, message);
  }
  const batch = [base, { ...base, react: "x" as never }];
  const error = await rejection<PosthornError>(peer.client.emails.sendBatch(batch));
  assert.equal(error.violations[0]!.field, "emails[1].react");
  assert.equal(peer.requests.length, requestsBefore);
});

test("an attachment that fails while a component is rendered is an error of the call", async () => {
  const failing = new Readable({ read: () => failing.destroy(new Error("disk fault")) });
  const attachments = [{ content: failing, filename: "a" }];
  async function Slow() {
    await new Promise((resolve) => failing.once("close", resolve));
    return null;
  }
  // As a stream of a file that does not exist, it fails without being read.
  failing.read(0);
  assert.match((await problem({ react: h(Slow), attachments })).message, /^attachments\[0\]\.content: cannot be read/);
  const waiting = new PassThrough();
  const broken = h(() => {
    throw new Error("no such customer");
  });
  assert.match(
    (await problem({ react: broken, attachments: [{ content: waiting, filename: "a" }] })).message,
    /^react: the component cannot be rendered/,
  );
  assert.ok(waiting.destroyed);
});

test("a component that never finishes ends with the call's timeout", async () => {
  const Stuck = async () => await new Promise<null>(() => {});
  const email = { ...base, react: h(Stuck) };
  const error = await rejection<PosthornError>(peer.client.emails.send(email, { timeoutMs: 100 }));
  assert.equal(error.code, "deadline_exceeded");
});
