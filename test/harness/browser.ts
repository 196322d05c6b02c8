/** Opens the dashboard of a running program in Debian's Chromium with playwright-core, and checks pages with axe. */
import assert from "node:assert/strict";
import { existsSync, globSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { needs, pathOf } from "./foreign.ts";
import { patienceMs, until } from "./wait.ts";

export const withoutBrowser = needs("chromium");

const web = fileURLToPath(new URL("../../web/", import.meta.url));
const shots = `${web}screenshots/`;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export type Tab = {
  page: Page;
  context: BrowserContext;
  /** Script errors, and requests that the page's Content-Security-Policy blocked. */
  complaints: string[];
  close(): Promise<void>;
};

export type TabOptions = {
  /** An API key that the page is signed in with from the first load. */
  key?: string;
  width?: number;
  colorScheme?: "light" | "dark";
  /** Default UTC. */
  timezoneId?: string;
};

export async function openBrowser(): Promise<Browser> {
  requireCurrentBuild();
  return await chromium.launch({
    executablePath: pathOf("chromium"),
    args: [
      // A page is open for seconds only, so optimizing its scripts does not pay off.
      "--js-flags=--no-opt --no-maglev",
      // Chromium cannot build its own sandbox as root.
      ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
    ],
  });
}

/** The program serves web/dist, so a stale build would test old code. */
function requireCurrentBuild(): void {
  const built = `${web}dist/index.html`;
  assert.ok(existsSync(built), "The dashboard is not built. Run: npm run build");
  const builtAt = statSync(built).mtimeMs;
  const changed = globSync(`${web}{src,public}/**/*.{ts,tsx,css,html,js}`)
    .filter((file) => !file.endsWith(".test.ts"))
    .filter((file) => statSync(file).mtimeMs > builtAt);
  assert.deepEqual(changed, [], "The built dashboard is older than its sources. Run: npm run build");
}

export async function openTab(browser: Browser, url: string, options: TabOptions = {}): Promise<Tab> {
  const { width = 1280, colorScheme = "light", timezoneId = "UTC", key } = options;
  const context = await browser.newContext({
    baseURL: url,
    colorScheme,
    reducedMotion: "reduce",
    locale: "en-GB",
    timezoneId,
    viewport: { width, height: 900 },
  });
  context.setDefaultTimeout(patienceMs);
  if (key) await context.addInitScript((secret) => sessionStorage.setItem("posthorn.key", secret), key);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    // The page itself reports error responses of the API; they are not faults of the page.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      complaints.push(message.text());
  });
  return { page, context, complaints, close: () => context.close() };
}

/** Navigates within the dashboard as its links do, because a full page load takes most of the time of a test. Resolves when
 * the previous page is gone. */
export async function follow(page: Page, path: string): Promise<void> {
  if (new URL(page.url()).pathname === path) return;
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.evaluate(
    `document.querySelector("h1").dataset.left = ""; history.pushState(null, "", ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent("popstate"))`,
  );
  await page.locator("h1[data-left]").waitFor({ state: "detached" });
}

/** Waits until the page shows this text and has finished loading. */
export async function settled(page: Page, shows: RegExp): Promise<void> {
  await page.locator("main").filter({ hasText: shows }).waitFor();
  await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
}

/** Checks what every page must satisfy: accessible in both themes, fits a narrow screen. Takes two screenshots, except in CI. */
export async function inspect(page: Page, name: string): Promise<void> {
  await page.emulateMedia({ colorScheme: "light" });
  assert.deepEqual(await findings(page), []);
  assert.match(await page.title(), / · Posthorn$/);
  assert.equal(await page.locator("h1").count(), 1, `${name} has one first heading`);
  await shoot(page, `${name}-light`);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setViewportSize({ width: 380, height: 900 });
  // The menu collapses after a short delay.
  await until(`${name} to fit a narrow screen`, async () => (await overflow(page)) === 0);
  assert.deepEqual(await findings(page, ["color-contrast"]), []);
  await shoot(page, `${name}-dark-narrow`);
  await page.setViewportSize({ width: 1280, height: 900 });
}

/** Serious and critical accessibility violations that axe finds, one line each. */
export async function findings(page: Page, rules: string[] = []): Promise<string[]> {
  // evaluate() injects axe through the debugger, which the Content-Security-Policy of the page does not block.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe);
  return await page.evaluate(async (only) => {
    type Node = { target: unknown[]; failureSummary?: string };
    type Violation = { id: string; impact: string; nodes: Node[] };
    type Axe = { run(options: object): Promise<{ violations: Violation[] }> };
    const { violations } = await (globalThis as unknown as { axe: Axe }).axe.run({
      resultTypes: ["violations"],
      ...(only.length > 0 ? { runOnly: only } : {}),
    });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(" ")} ${node.failureSummary ?? ""}`));
  }, rules);
}

/** The number of pixels by which the page is wider than the window. */
async function overflow(page: Page): Promise<number> {
  return await page.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}

/** Writes web/screenshots/NAME.png, for review by a person. No person sees those of a CI run. */
export async function shoot(page: Page, name: string): Promise<void> {
  if (process.env.CI) return;
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: `${shots}${name}.png`, fullPage: true });
}
