/** The mark of an outcome or a state: a dot, a word, and the color of its meaning. The word alone identifies it. */
import type { CSSProperties, ReactNode } from "react";

/** The meanings that have a color, and only they. The names are those of design/tokens.css. */
export type Tone =
  | "delivered"
  | "sent"
  | "bounced"
  | "failed"
  | "complained"
  | "delayed"
  | "queued"
  | "suppressed"
  | "canceled"
  | "replied"
  | "gold";

export function toneStyle(tone: Tone): CSSProperties {
  const color = tone === "gold" ? "var(--gold-strong)" : `var(--${tone})`;
  return { "--tone": color, "--tone-wash": `var(--${tone}-wash)` } as CSSProperties;
}

export function Mark({ tone, children, title }: { tone: Tone; children: ReactNode; title?: string }) {
  return (
    <span className="outcome mark" style={toneStyle(tone)} title={title}>
      <span className="dot" aria-hidden="true" />
      {children}
    </span>
  );
}

/** The first thing on a page about one subject: what happened, and what to do about it. */
export function Say(props: { tone: Tone; title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <section className="say" style={toneStyle(props.tone)} aria-label="Summary">
      <span className="dot" aria-hidden="true" />
      <div>
        <strong>{props.title}</strong>
        {props.children && <p>{props.children}</p>}
      </div>
      {props.action}
    </section>
  );
}
