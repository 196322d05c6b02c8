/** The icons and status badges of the dashboard. Icons have the color of the text and are hidden from screen readers. */
import type { ReactNode } from "react";
import { tokenOf } from "../design/theme.ts";
import { Mark, type Tone } from "./outcome.tsx";

function icon(drawing: ReactNode, options: { size?: number; color?: string } = {}) {
  const { size = 18, color = "currentColor" } = options;
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke={color}
      strokeWidth={1.8}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      {drawing}
    </svg>
  );
}

export const HornIcon = () =>
  icon(
    <>
      <circle cx="10.5" cy="13.5" r="6" />
      <path d="M3 7.5h10.5c3.75 0 5.25-1.5 7.5-3.75v8.25c-2.25-2.25-3.75-3-6-3" />
    </>,
    { size: 22 },
  );

export const MenuIcon = () => icon(<path d="M4 7h16M4 12h16M4 17h16" />);

export const CloseIcon = () => icon(<path d="M6 6l12 12M18 6L6 18" />);

export const KeyIcon = () =>
  icon(
    <>
      <circle cx="8" cy="15" r="4.5" />
      <path d="M11.5 11.5l8.5-8.5M16 7l3 3" />
    </>,
  );

export const SunIcon = () =>
  icon(
    <>
      <circle cx="12" cy="12" r="4" />
      <path d="M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6l1.4 1.4M5 19l1.4-1.4M17.6 6.4l1.4-1.4" />
    </>,
  );

export const MoonIcon = () => icon(<path d="M20 14.5a8.5 8.5 0 0 1-10.5-10.5 8.5 8.5 0 1 0 10.5 10.5z" />);

export const ScreenIcon = () =>
  icon(
    <>
      <rect x="3" y="4" width="18" height="12" rx="2" />
      <path d="M8 20h8M12 16v4" />
    </>,
  );

export const CopyIcon = () =>
  icon(
    <>
      <rect x="9" y="9" width="11" height="11" rx="2" />
      <path d="M5 15V6a2 2 0 0 1 2-2h9" />
    </>,
    { size: 16 },
  );

export const SearchIcon = () =>
  icon(
    <>
      <circle cx="10.5" cy="10.5" r="6.5" />
      <path d="M15.5 15.5L21 21" />
    </>,
    { size: 16 },
  );

export const DownIcon = () => icon(<path d="M6 9l6 6 6-6" />, { size: 14 });

export const HelpIcon = () =>
  icon(
    <>
      <circle cx="12" cy="12" r="9" />
      <path d="M9.5 9.3a2.6 2.6 0 1 1 3.7 2.4c-.8.4-1.2.9-1.2 1.8M12 16.8v.2" />
    </>,
  );

export const CheckIcon = () => icon(<path d="M5 12.5l4.5 4.5L19 7.5" />, { size: 16 });

/** The label of a status. Its text alone identifies the status; the color is an addition. */
export interface StatusLabel {
  text: string;
  color: string;
  /** Explanation, shown as a tooltip. */
  meaning?: string;
}

/** Shows a status as a dot and a word. */
export function StatusBadge({ of: { text, color, meaning } }: { of: StatusLabel }) {
  return (
    <Mark tone={(tokenOf[color] ?? "queued") as Tone} title={meaning}>
      {text}
    </Mark>
  );
}
