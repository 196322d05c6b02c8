/** Names and values, one below the other: the plain facts about a thing. */
import type { ReactNode } from "react";

export function Facts({ children }: { children: ReactNode }) {
  return <dl className="facts">{children}</dl>;
}

/** Left out when there is nothing to say. */
export function Fact({ name, wide = false, children }: { name: string; wide?: boolean; children: ReactNode }) {
  if (children === undefined || children === null || children === "" || children === false) return null;
  return (
    <div className={wide ? "wide" : undefined}>
      <dt>{name}</dt>
      <dd className="wrap">{children}</dd>
    </div>
  );
}
