/** The few pictures of the dashboard, drawn in the colour of the text around them and silent for screen readers. */
import type { ReactNode } from "react";

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
    { size: 26, color: "var(--horn)" },
  );

export const HouseIcon = () => icon(<path d="M4 11l8-7 8 7v9h-5.5v-6h-5v6h-5.5z" />);

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
