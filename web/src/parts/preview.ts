/** Sanitizes the HTML of a message for HtmlPreview: parses it without running or loading anything, and removes active content. */

/** Elements that run scripts, load resources, navigate or collect input. The frame's Content-Security-Policy blocks them too. */
const removedElements =
  "script, iframe, frame, frameset, object, embed, applet, link, meta, base, form, input, button, select, textarea, dialog, audio, video, portal, template";

export interface Cleaned {
  head: Element[];
  body: HTMLElement;
  /** True when the message references remote images. */
  hasRemote: boolean;
}

/** DOMParser creates an inert document: it runs no scripts and loads no resources. */
export function cleanHtml(html: string, inline: ReadonlyMap<string, string> = new Map()): Cleaned {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  for (const element of parsed.querySelectorAll(removedElements)) element.remove();
  for (const element of parsed.querySelectorAll("*")) cleanAttributes(element, inline);
  const text = parsed.documentElement.outerHTML;
  return {
    head: [...parsed.head.querySelectorAll("style")],
    body: parsed.body,
    hasRemote:
      /(?:src|srcset|background|poster|href)\s*=\s*["']?\s*(?:https?:)?\/\/|url\(\s*["']?\s*(?:https?:)?\/\//i.test(
        text.replaceAll(/<a\b[^>]*>/gi, ""),
      ),
  };
}

function cleanAttributes(element: Element, inline: ReadonlyMap<string, string>): void {
  for (const { name, value } of [...element.attributes]) {
    const isHandler = name.startsWith("on");
    const isScript = /^\s*(javascript|vbscript)\s*:/i.test(value);
    if (isHandler || isScript || name === "ping" || name === "autofocus") element.removeAttribute(name);
    const image = /^cid:(.+)$/i.exec(value)?.[1];
    if (image) {
      const known = inline.get(image);
      if (known) element.setAttribute(name, known);
      else element.removeAttribute(name);
    }
  }
}
