/** Colours, type and defaults of the dashboard; system fonts, so that nothing is loaded from elsewhere. */
import { Alert, Anchor, type CSSVariablesResolver, createTheme, Modal, NavLink } from "@mantine/core";

export const theme = createTheme({
  primaryColor: "indigo",
  // White text on a filled button needs a shade this dark to be read (WCAG 1.4.3: 4.5 to 1).
  primaryShade: { light: 8, dark: 8 },
  defaultRadius: "md",
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SF Mono', Menlo, Consolas, monospace",
  headings: {
    fontWeight: "650",
    sizes: { h1: { fontSize: "1.75rem" }, h3: { fontSize: "1.25rem" } },
  },
  respectReducedMotion: true,
  components: {
    // A link within text must be told by more than its colour (WCAG 1.4.1).
    Anchor: Anchor.extend({ defaultProps: { underline: "always" } }),
    // Only what has just gone wrong or right interrupts a screen reader; such alerts say so themselves.
    Alert: Alert.extend({ defaultProps: { role: "note" } }),
    Modal: Modal.extend({
      defaultProps: {
        closeButtonProps: { "aria-label": "Close" },
        // Its header would count as a second banner of the page.
        attributes: { header: { role: "presentation" } },
      },
    }),
    NavLink: NavLink.extend({ styles: { root: { borderRadius: "var(--mantine-radius-md)" } } }),
  },
});

/** Colours that stand as light badges and alerts with text in their own colour. */
const tinted = ["gray", "red", "grape", "indigo", "blue", "teal", "green", "yellow", "orange"];

/** The library's quiet texts and tinted labels are too faint to be read by everyone (WCAG 1.4.3); these are not. */
export const readableColors: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-dimmed": "var(--mantine-color-gray-7)",
    "--mantine-color-placeholder": "var(--mantine-color-gray-6)",
    "--mantine-color-error": "var(--mantine-color-red-9)",
    "--mantine-color-anchor": "var(--mantine-color-indigo-9)",
    ...labels((name) => `color-mix(in srgb, var(--mantine-color-${name}-9), black 30%)`),
  },
  dark: {
    "--mantine-color-dimmed": "var(--mantine-color-dark-1)",
    "--mantine-color-placeholder": "var(--mantine-color-dark-2)",
    "--mantine-color-error": "var(--mantine-color-red-4)",
    "--mantine-color-anchor": "var(--mantine-color-indigo-3)",
    ...labels((name) => `var(--mantine-color-${name}-1)`),
  },
});

function labels(color: (name: string) => string): Record<string, string> {
  return Object.fromEntries(tinted.map((name) => [`--mantine-color-${name}-light-color`, color(name)]));
}
