/** The script of the documentation: search, copy buttons, one language at a time, the color scheme. Every page is readable without it. */
import "@fontsource-variable/inter/wght.css";
import "@fontsource/jetbrains-mono/400.css";
import "./docs.css";
import { type Entry, type Found, search } from "./search.ts";

const schemeSlot = "mantine-color-scheme-value";
const languageSlot = "posthorn.docs-language";

startNavigation();
startScheme();
startTabs();
startCopyButtons();
startSearch();

/** On a phone the contents start closed. */
function startNavigation(): void {
  const contents = document.querySelector<HTMLDetailsElement>(".docs-nav details");
  const wide = matchMedia("(min-width: 60em)");
  const show = () => {
    if (contents) contents.open = wide.matches;
  };
  show();
  wide.addEventListener("change", show);
  document.querySelector(".docs-nav [aria-current]")?.scrollIntoView({ block: "nearest" });
}

/** The same choice as in the dashboard: system, light or dark. */
function startScheme(): void {
  const button = document.querySelector<HTMLButtonElement>("[data-scheme]");
  if (!button) return;
  const order = ["auto", "light", "dark"];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = remembered(schemeSlot) ?? "auto";
  const show = () => {
    const isDark = chosen === "dark" || (chosen !== "light" && dark.matches);
    document.documentElement.setAttribute("data-mantine-color-scheme", isDark ? "dark" : "light");
    button.textContent = { auto: "System", light: "Light", dark: "Dark" }[chosen] ?? "System";
    button.setAttribute("aria-label", `Color scheme: ${button.textContent}. Switch to the next one`);
  };
  button.addEventListener("click", () => {
    chosen = order[(order.indexOf(chosen) + 1) % order.length]!;
    remember(schemeSlot, chosen);
    show();
  });
  dark.addEventListener("change", show);
  show();
  button.hidden = false;
}

/** Blocks in several languages become tabs. The choice holds for all pages. */
function startTabs(): void {
  const groups = [...document.querySelectorAll<HTMLElement>(".languages")].map((group, g) => {
    const figures = [...group.querySelectorAll<HTMLElement>("figure")];
    const list = document.createElement("div");
    list.className = "tabs";
    list.setAttribute("role", "tablist");
    list.setAttribute("aria-label", "Language");
    const tabs = figures.map((figure, n) => {
      const tab = document.createElement("button");
      tab.type = "button";
      tab.id = `tab-${g}-${n}`;
      tab.textContent = figure.querySelector("figcaption")?.textContent ?? "Code";
      tab.setAttribute("role", "tab");
      figure.id = `panel-${g}-${n}`;
      figure.setAttribute("role", "tabpanel");
      figure.setAttribute("aria-labelledby", tab.id);
      tab.setAttribute("aria-controls", figure.id);
      tab.addEventListener("click", () => choose(figure.dataset.language!));
      list.append(tab);
      return tab;
    });
    list.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = (tabs.indexOf(event.target as HTMLButtonElement) + step + tabs.length) % tabs.length;
      tabs[next]!.click();
      tabs[next]!.focus();
    });
    group.prepend(list);
    group.dataset.tabbed = "";
    return { figures, tabs };
  });
  const choose = (language: string) => {
    remember(languageSlot, language);
    for (const { figures, tabs } of groups) {
      const at = Math.max(
        0,
        figures.findIndex((figure) => figure.dataset.language === language),
      );
      for (const [n, figure] of figures.entries()) {
        figure.hidden = n !== at;
        tabs[n]!.setAttribute("aria-selected", String(n === at));
        tabs[n]!.tabIndex = n === at ? 0 : -1;
      }
    }
  };
  if (groups.length > 0) choose(remembered(languageSlot) ?? "curl");
}

function startCopyButtons(): void {
  for (const figure of document.querySelectorAll<HTMLElement>("figure.code")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy this code");
    button.addEventListener("click", async () => {
      const isCopied = await copy(figure.querySelector("code")!);
      button.textContent = isCopied ? "Copied" : "Press Ctrl+C";
      setTimeout(() => {
        button.textContent = "Copy";
      }, 2000);
    });
    button.setAttribute("aria-live", "polite");
    figure.append(button);
  }
}

/** The clipboard API exists only on secure origins; elsewhere the text is selected. */
async function copy(code: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(code.textContent ?? "");
    return true;
  } catch {
    getSelection()?.selectAllChildren(code);
    return document.execCommand("copy");
  }
}

function startSearch(): void {
  const box = document.querySelector<HTMLElement>(".docs-search");
  const field = box?.querySelector("input");
  const list = box?.querySelector<HTMLElement>("[role=listbox]");
  const status = box?.querySelector<HTMLElement>("[role=status]");
  if (!box || !field || !list || !status) return;
  let entries: Promise<Entry[]> | undefined;
  let found: Found[] = [];
  let chosen = 0;
  const load = () => {
    entries ??= fetch(document.body.dataset.index!)
      .then((response) => response.json() as Promise<Entry[]>)
      .catch((error: unknown) => {
        entries = undefined;
        throw error;
      });
    return entries;
  };
  const mark = () => {
    for (const [n, option] of [...list.querySelectorAll("[role=option]")].entries())
      option.setAttribute("aria-selected", String(n === chosen));
    const option = list.querySelector("[aria-selected=true]");
    option?.scrollIntoView({ block: "nearest" });
    if (option) field.setAttribute("aria-activedescendant", option.id);
    else field.removeAttribute("aria-activedescendant");
  };
  const close = () => {
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
  };
  const show = async () => {
    const query = field.value.trim();
    if (query === "") return close();
    try {
      const all = await load();
      if (field.value.trim() !== query) return;
      found = search(all, query);
      chosen = 0;
      status.textContent = found.length === 0 ? "No results" : `${found.length} results`;
      list.replaceChildren(...(found.length > 0 ? found.map(option) : [message(`No results for “${query}”.`)]));
    } catch {
      found = [];
      list.replaceChildren(message("The search could not be loaded. Check the connection and try again."));
    }
    list.hidden = false;
    field.setAttribute("aria-expanded", "true");
    mark();
  };
  field.addEventListener("focus", () => void load().catch(() => {}));
  field.addEventListener("input", () => void show());
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && found.length > 0) chosen = (chosen + step + found.length) % found.length;
    else if (event.key === "Enter" && !list.hidden && found[chosen]) location.assign(found[chosen]!.entry.address);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    mark();
  });
  document.addEventListener("click", (event) => {
    if (!box.contains(event.target as Node)) close();
  });
  // A link to a section of this page does not load a page, so the list would stay open.
  addEventListener("hashchange", close);
  document.addEventListener("keydown", (event) => {
    const isTyping = (event.target as HTMLElement).closest("input, textarea");
    const isSearch = event.key === "/" || ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k");
    if (!isSearch || isTyping) return;
    event.preventDefault();
    field.focus();
  });
  box.hidden = false;
}

function option({ entry, excerpt }: Found, n: number): HTMLElement {
  const link = document.createElement("a");
  link.href = entry.address;
  link.id = `found-${n}`;
  link.tabIndex = -1;
  link.setAttribute("role", "option");
  const heading = document.createElement("b");
  heading.textContent = entry.heading;
  const page = document.createElement("span");
  page.className = "faint";
  page.textContent = entry.heading === entry.page ? "" : entry.page;
  const text = document.createElement("span");
  text.className = "excerpt";
  text.textContent = excerpt;
  link.append(heading, page, text);
  return link;
}

/** Not an option: nothing can be chosen. */
function message(text: string): HTMLElement {
  const line = document.createElement("p");
  line.className = "faint";
  line.setAttribute("role", "presentation");
  line.textContent = text;
  return line;
}

/** Storage throws where the browser forbids it. */
function remembered(slot: string): string | null {
  try {
    return localStorage.getItem(slot);
  } catch {
    return null;
  }
}

function remember(slot: string, value: string): void {
  try {
    localStorage.setItem(slot, value);
  } catch {}
}
