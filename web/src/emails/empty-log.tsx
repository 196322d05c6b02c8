/** The log without emails: what appears here, and how to send the first one. */
import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { ButtonLink } from "../parts/links.tsx";
import { Empty } from "../parts/states.tsx";
import { WriteOnly } from "../shell/write-only.tsx";

export function EmptyLog() {
  const action = (
    <WriteOnly>
      <ButtonLink to="/send">Send a test email</ButtonLink>
    </WriteOnly>
  );
  return (
    <Empty title="No emails yet" drawing={<Letters />} action={action}>
      Every email that your programs send appears here with its outcome: delivered, delayed, bounced. Send a test email,
      or call SendEmail with an API key.
    </Empty>
  );
}

export function NoMatches({ onClear }: { onClear(): void }) {
  const action = (
    <Button variant="default" onClick={onClear}>
      Clear filters
    </Button>
  );
  return (
    <Empty title="No emails match." drawing={<Lens />} action={action}>
      Search finds email ids, Message-IDs, the beginning of recipient addresses, and whole words of the subject. All
      filters must match.
    </Empty>
  );
}

function Drawing({ children }: { children: ReactNode }) {
  return (
    <svg
      className="log-drawing"
      width="168"
      height="96"
      viewBox="0 0 168 96"
      fill="none"
      aria-hidden="true"
      focusable="false"
    >
      <g stroke="currentColor" strokeWidth="2" strokeLinecap="round" strokeLinejoin="round">
        {children}
      </g>
    </svg>
  );
}

/** A horn that sends letters. */
function Letters() {
  return (
    <Drawing>
      <circle cx="38" cy="58" r="20" />
      <path d="M12 38h36c12 0 18-6 26-14v30c-8-8-13-10-21-10" fill="var(--gold-wash)" />
      <g stroke="var(--line-strong)" fill="var(--surface)">
        <path d="M88 22h30v20H88zM88 24l15 11 15-11" />
        <path d="M104 52h30v20h-30zM104 54l15 11 15-11" />
        <path d="M130 14h30v20h-30zM130 16l15 11 15-11" />
      </g>
    </Drawing>
  );
}

function Lens() {
  return (
    <Drawing>
      <g stroke="var(--line-strong)">
        <path d="M20 26h84M20 44h60M20 62h72" />
      </g>
      <circle cx="104" cy="46" r="24" fill="var(--gold-wash)" />
      <path d="M122 64l22 22" strokeWidth="5" />
    </Drawing>
  );
}
