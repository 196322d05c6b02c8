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

export const HomeIcon = () => icon(<path d="M4 11l8-7 8 7v9h-5.5v-6h-5v6h-5.5z" />);

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

export const GlobeIcon = () =>
  icon(
    <>
      <circle cx="12" cy="12" r="9" />
      <path d="M3 12h18M12 3c3 3 3.5 6 3.5 9s-.5 6-3.5 9c-3-3-3.5-6-3.5-9s.5-6 3.5-9z" />
    </>,
  );

export const MailIcon = () =>
  icon(
    <>
      <rect x="3" y="5" width="18" height="14" rx="2" />
      <path d="M4 7l8 6 8-6" />
    </>,
  );

export const PulseIcon = () => icon(<path d="M3 12h4l3-8 4 16 3-8h4" />);

export const HookIcon = () =>
  icon(
    <>
      <circle cx="7" cy="17" r="3" />
      <circle cx="17" cy="17" r="3" />
      <circle cx="12" cy="6" r="3" />
      <path d="M10.5 8.5L8 14.5M13.5 8.5l2.5 6M10 17h4" />
    </>,
  );

export const StopIcon = () =>
  icon(
    <>
      <circle cx="12" cy="12" r="9" />
      <path d="M5.8 5.8l12.4 12.4" />
    </>,
  );

export const InboxIcon = () => icon(<path d="M3 13l3-8h12l3 8v6H3zM3 13h5l1.5 3h5L16 13h5" />);

export const QueueIcon = () => icon(<path d="M4 6h16M4 12h16M4 18h10" />);

export const ListIcon = () => icon(<path d="M9 6h11M9 12h11M9 18h11M4 6h.5M4 12h.5M4 18h.5" />);

export const FoldersIcon = () => icon(<path d="M3 8h6l2 2h10v9H3zM6 8V5h5l2 2h5v3" />);

export const PeopleIcon = () =>
  icon(
    <>
      <circle cx="9" cy="8" r="3.5" />
      <path d="M2.5 20c0-4 3-6 6.5-6s6.5 2 6.5 6M16 4.8a3.5 3.5 0 0 1 0 6.4M18 14.5c2.3.8 3.5 2.7 3.5 5.5" />
    </>,
  );

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
