/** The plot of a run (--plot): one bar for each row with a baseline. The length is the ratio to the baseline; a line shows the target. */
import { cpus } from "node:os";
import { percent, type Row, ratioOf as ratio, show, targetOf } from "./report.ts";

const width = 1180;
const labels = 440;
const bars = 360;
const lineHeight = 26;
const top = 64;
/** Longer bars are cut off; their label shows the full ratio. */
const longest = 2;

const colors = { more: "#2563a8", less: "#b4652a" };

export function plot(rows: readonly Row[], day: Date): string {
  const drawn = rows.filter((row) => row.baseline !== undefined);
  const most = Math.min(longest, Math.max(1, ...drawn.flatMap((row) => [ratio(row), row.least ?? 0, row.most ?? 0])));
  const scale = bars / most;
  const height = top + drawn.length * lineHeight + 40;
  const one = labels + scale;
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? process.arch}, Node ${process.versions.node}, ${day.toISOString().slice(0, 10)}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="13" role="img">`,
    "<title>Posthorn compared with the limits of the machine, measured in the same run</title>",
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    text(
      16,
      26,
      "Posthorn compared with the limits of the machine, measured in the same run",
      'font-size="16" fill="#111"',
    ),
    text(16, 46, `npm run bench -- --plot · ${machine}`, 'fill="#555"'),
    `<line x1="${one}" y1="${top - 4}" x2="${one}" y2="${height - 36}" stroke="#aaa" stroke-dasharray="3 3"/>`,
    ...drawn.flatMap((row, i) => bar(row, top + i * lineHeight, scale)),
    text(one, height - 20, "100 %", 'text-anchor="middle" fill="#111"'),
    key(16, height - 20, colors.more, "more is better"),
    key(150, height - 20, colors.less, "times: less is better"),
    targetLine(322, height - 35),
    text(330, height - 20, "target", 'fill="#444"'),
    "</svg>\n",
  ].join("\n");
}

function bar(row: Row, y: number, scale: number): string[] {
  const length = Math.max(1, Math.min(ratio(row), longest) * scale);
  const color = row.unit === "ms" ? colors.less : colors.more;
  const target = targetOf(row);
  const missed = target?.state === "missed" ? ` (missed: ${target.text})` : "";
  const figure = `${percent(ratio(row))} of ${row.baseline!.what}${missed}`;
  return [
    text(labels - 8, y + 15, `${row.what}: ${show(row.value)} ${row.unit}`, 'text-anchor="end" fill="#111"'),
    `<rect x="${labels}" y="${y + 3}" width="${length.toFixed(1)}" height="16" rx="2" fill="${color}"/>`,
    ...[row.least, row.most].flatMap((limit) =>
      limit === undefined ? [] : targetLine(labels + Math.min(limit, longest) * scale, y),
    ),
    text(
      labels + length + 6,
      y + 15,
      figure,
      'fill="#444" font-size="11" stroke="#fff" stroke-width="3" paint-order="stroke"',
    ),
  ];
}

function targetLine(x: number, y: number): string {
  return `<line class="target" x1="${x.toFixed(1)}" y1="${y}" x2="${x.toFixed(1)}" y2="${y + 22}" stroke="#111" stroke-width="2"/>`;
}

function key(x: number, y: number, color: string, words: string): string {
  return `<rect x="${x}" y="${y - 10}" width="12" height="12" fill="${color}"/>${text(x + 18, y, words, 'fill="#444"')}`;
}

function text(x: number, y: number, words: string, attributes: string): string {
  const safe = words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return `<text x="${x.toFixed(1)}" y="${y}" ${attributes}>${safe}</text>`;
}
