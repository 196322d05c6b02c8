/** The HTML of system mail, made from its plain text, so that both say the same. Inline styles and no remote content: mail programs drop
 * style sheets and block images. The colors are those of web/src/design/tokens.css. Called by ../system-mail.ts. */

export type SystemText = {
  subject: string;
  body: string;
  /** The one link of the mail. In the text, it is a line of its own. Nothing else becomes a link. */
  link?: { url: string; label: string };
};

/** Lines with these labels are shown as a table. Other lines may begin with a name that a stranger chose. */
const labels = ["Workspace", "Name of the workspace", "Quota", "Used", "Reason", "Key", "Expires", "Last used"];
const factPattern = new RegExp(`^(${labels.join("|")}): (.*)$`);

/** A command with the id of what it changes. A name that a stranger chose has no underscore. */
const commandPattern = /^posthorn [a-z][a-z -]* [a-z]+_[\da-f-]{36}$/;

const light = {
  ink: "#1c2130",
  soft: "#495066",
  paper: "#faf8f3",
  surface: "#ffffff",
  line: "#e6e1d6",
  gold: "#b2740a",
};
const font = "font-family:'Inter','Segoe UI',Roboto,Helvetica,Arial,sans-serif";
const mono = "font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace";

/** Classes only for the dark palette, for mail programs that read style sheets. */
const dark = `@media (prefers-color-scheme: dark) {
.ph-paper { background: #10131c !important; }
.ph-card { background: #171b27 !important; border-color: #e2aa3f #272d3d #272d3d !important; }
.ph-ink { color: #edeae2 !important; }
.ph-soft { color: #babdcb !important; }
.ph-brand { color: #e2aa3f !important; }
.ph-row { border-color: #272d3d !important; }
.ph-code { background: #0c0f17 !important; color: #edeae2 !important; }
.ph-button { background: #e2aa3f !important; color: #10131c !important; }
}`;

export function systemHtml(mail: SystemText): string {
  const paragraphs = mail.body.trim().split(/\n{2,}/);
  const content = paragraphs.map((paragraph) => htmlOfParagraph(paragraph.split("\n"), mail.link)).join("\n");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escaped(mail.subject)}</title>
<style>${dark}</style>
</head>
<body class="ph-paper" style="margin:0;padding:0;background:${light.paper}">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" class="ph-paper" style="background:${light.paper}">
<tr><td align="center" style="padding:32px 16px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:560px;text-align:left">
<tr><td class="ph-brand" style="padding:0 4px 16px;${font};font-size:15px;font-weight:700;color:#865504">Posthorn</td></tr>
<tr><td class="ph-card" style="padding:32px 28px;background:${light.surface};border:1px solid ${light.line};border-top:3px solid ${light.gold};border-radius:10px">
<h1 class="ph-ink" style="margin:0 0 16px;${font};font-size:21px;line-height:1.3;font-weight:650;color:${light.ink};overflow-wrap:anywhere">${escaped(mail.subject)}</h1>
${content}
</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
`;
}

function htmlOfParagraph(lines: readonly string[], link: SystemText["link"]): string {
  const parts: string[] = [];
  let facts: string[] = [];
  const endFacts = () => {
    if (facts.length > 0) parts.push(factTable(facts));
    facts = [];
  };
  for (const line of lines) {
    const fact = factPattern.exec(line);
    if (fact) facts.push(factRow(fact[1]!, fact[2]!));
    else {
      endFacts();
      parts.push(htmlOfLine(line, link));
    }
  }
  endFacts();
  return parts.join("\n");
}

function htmlOfLine(line: string, link: SystemText["link"]): string {
  if (link && line === link.url) return button(link);
  if (commandPattern.test(line))
    return `<div class="ph-code" style="margin:0 0 14px;padding:10px 12px;border-radius:6px;background:#f4f1ea;${mono};font-size:13px;color:${light.ink};overflow-wrap:anywhere">${escaped(line)}</div>`;
  return `<p class="ph-soft" style="margin:0 0 14px;${font};font-size:15px;line-height:1.55;color:${light.soft};overflow-wrap:anywhere">${escaped(line)}</p>`;
}

/** The address is also shown, for mail programs and people that do not follow buttons. */
function button({ url, label }: { url: string; label: string }): string {
  const href = escaped(url);
  return `<table role="presentation" cellpadding="0" cellspacing="0" style="margin:4px 0 12px"><tr><td class="ph-button" style="background:#865504;border-radius:7px"><a class="ph-button" href="${href}" style="display:inline-block;padding:11px 20px;${font};font-size:15px;font-weight:600;color:#ffffff;text-decoration:none;border-radius:7px">${escaped(label)}</a></td></tr></table>
<div class="ph-soft" style="margin:0 0 18px;${mono};font-size:12px;line-height:1.5;color:${light.soft};overflow-wrap:anywhere;word-break:break-all">${href}</div>`;
}

function factTable(rows: readonly string[]): string {
  return `<table width="100%" cellpadding="0" cellspacing="0" style="margin:0 0 16px;border-collapse:collapse">${rows.join("")}</table>`;
}

function factRow(label: string, value: string): string {
  const cell = `padding:8px 0;border-bottom:1px solid ${light.line};${font};font-size:14px;line-height:1.45;vertical-align:top`;
  return `<tr><th scope="row" class="ph-soft ph-row" style="${cell};padding-right:16px;width:1%;white-space:nowrap;text-align:left;font-weight:500;color:${light.soft}">${escaped(label)}</th><td class="ph-ink ph-row" style="${cell};color:${light.ink};overflow-wrap:anywhere">${escaped(value)}</td></tr>`;
}

function escaped(text: string): string {
  const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (char) => entities[char]!);
}
