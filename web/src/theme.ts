/** Colors, fonts and component defaults of the dashboard. It uses system fonts, so that it loads nothing from other servers. */
import { Alert, Anchor, type CSSVariablesResolver, createTheme, Modal, NavLink } from "@mantine/core";

export const theme = createTheme({
  primaryColor: "indigo",
  // White text on a filled button needs this shade for a contrast of 4.5:1 (WCAG 1.4.3).
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
    // A link within text must differ in more than its color (WCAG 1.4.1).
    Anchor: Anchor.extend({ defaultProps: { underline: "always" } }),
    // Alerts do not interrupt a screen reader by default. Alerts about the result of an action set role="alert" themselves.
    Alert: Alert.extend({ defaultProps: { role: "note" } }),
    Modal: Modal.extend({
      defaultProps: {
        closeButtonProps: { "aria-label": "Close" },
        // A <header> element would be a second banner landmark of the page.
        attributes: { header: { role: "presentation" } },
      },
    }),
    NavLink: NavLink.extend({ styles: { root: { borderRadius: "var(--mantine-radius-md)" } } }),
  },
});

/** Colors that are used for light badges and alerts with text in the same color. */
const tinted = ["gray", "red", "grape", "indigo", "blue", "teal", "green", "yellow", "orange"];

/** Replaces Mantine's dimmed text and light label colors, whose contrast is too low (WCAG 1.4.3). */
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
