/** Mantine in the colors, the type and the measures of tokens.css. The fonts come with the program, so that a page loads nothing from other
 * servers. */
import {
  type CSSVariablesResolver,
  createTheme,
  defaultVariantColorsResolver,
  type VariantColorsResolver,
} from "@mantine/core";

/** Mantine's color names in use, each with the token that has its meaning here. */
export const tokenOf: Record<string, string> = {
  red: "bounced",
  orange: "failed",
  yellow: "delayed",
  green: "delivered",
  teal: "sent",
  blue: "replied",
  grape: "complained",
  violet: "suppressed",
  gray: "queued",
  gold: "gold",
};

/** Filled buttons are ink on paper, a dangerous one is red; all others are quiet. Text on a wash has the color of its meaning. */
const variants: VariantColorsResolver = (input) => {
  const token = tokenOf[input.color ?? ""];
  switch (input.variant) {
    case "filled":
      return token
        ? {
            background: `var(--${token})`,
            hover: `var(--${token})`,
            color: "var(--surface)",
            border: "1px solid transparent",
          }
        : { background: "var(--ink)", hover: "var(--ink-2)", color: "var(--paper)", border: "1px solid transparent" };
    case "default":
      return {
        background: "var(--surface)",
        hover: "var(--sunken)",
        color: "var(--ink)",
        border: "1px solid var(--line-strong)",
      };
    case "subtle":
    case "transparent":
      return {
        background: "transparent",
        hover: "var(--sunken)",
        color: token ? `var(--${token})` : "var(--ink-2)",
        border: "1px solid transparent",
      };
    case "light":
      return {
        background: token ? `var(--${token}-wash)` : "var(--sunken)",
        hover: token ? `var(--${token}-wash)` : "var(--line)",
        color: token ? `var(--${token}${token === "gold" ? "-strong" : ""})` : "var(--ink)",
        border: "1px solid transparent",
      };
    default:
      return defaultVariantColorsResolver(input);
  }
};

export const theme = createTheme({
  primaryColor: "ink",
  colors: {
    // Mantine takes surfaces, lines and texts of the dark scheme from these shades.
    dark: [
      "#edeae2",
      "#babdcb",
      "#979cae",
      "#68708a",
      "#3a4258",
      "#272d3d",
      "#171b27",
      "#10131c",
      "#0c0f17",
      "#080a10",
    ],
    ink: ["#f4f5f8", "#e4e6ec", "#c6cad6", "#a3a9ba", "#838ba0", "#646c81", "#495066", "#343a4d", "#1c2130", "#10131c"],
  },
  variantColorResolver: variants,
  defaultRadius: 7,
  fontFamily: "var(--font)",
  fontFamilyMonospace: "var(--mono)",
  fontSizes: { xs: "0.75rem", sm: "var(--text-small)", md: "var(--text-body)", lg: "1rem", xl: "1.125rem" },
  headings: {
    fontWeight: "640",
    sizes: {
      h1: { fontSize: "var(--text-title)", lineHeight: "1.25" },
      h2: { fontSize: "var(--text-heading)", lineHeight: "1.4", fontWeight: "620" },
      h3: { fontSize: "var(--text-heading)", lineHeight: "1.4", fontWeight: "620" },
    },
  },
  spacing: { xs: "8px", sm: "12px", md: "16px", lg: "20px", xl: "32px" },
  respectReducedMotion: true,
  // Plain objects: Mantine's `extend` would load every component with the first view.
  components: {
    // A link within text must differ in more than its color (WCAG 1.4.1).
    Anchor: { defaultProps: { underline: "always" } },
    // Alerts do not interrupt a screen reader by default. Alerts about the result of an action set role="alert" themselves.
    Alert: { defaultProps: { role: "note", variant: "light" } },
    ActionIcon: { defaultProps: { variant: "subtle" } },
    Badge: { defaultProps: { variant: "light", radius: 5, tt: "none", fw: 580 } },
    Button: { defaultProps: { size: "sm" } },
    Card: { defaultProps: { withBorder: true } },
    // Mantine draws the mark white, which has no contrast on the light ink of the dark scheme.
    Checkbox: { defaultProps: { iconColor: "var(--paper)" } },
    Radio: { defaultProps: { iconColor: "var(--paper)" } },
    Switch: { defaultProps: { size: "sm", withThumbIndicator: false } },
    Modal: {
      defaultProps: {
        closeButtonProps: { "aria-label": "Close" },
        // A <header> element would be a second banner landmark of the page.
        attributes: { header: { role: "presentation" } },
      },
    },
  },
});

/** The same names in both schemes: tokens.css has the values of each. */
export const colors: CSSVariablesResolver = () => {
  const both = {
    "--mantine-color-body": "var(--paper)",
    "--mantine-color-text": "var(--ink)",
    "--mantine-color-bright": "var(--ink)",
    "--mantine-color-dimmed": "var(--ink-3)",
    "--mantine-color-placeholder": "var(--ink-3)",
    "--mantine-color-anchor": "var(--link)",
    "--mantine-color-error": "var(--bounced)",
    "--mantine-color-default": "var(--surface)",
    "--mantine-color-default-hover": "var(--sunken)",
    "--mantine-color-default-color": "var(--ink)",
    "--mantine-color-default-border": "var(--line)",
    // A group of radio buttons takes its color by its own name, not as the primary one.
    "--mantine-color-ink-filled": "var(--ink)",
    "--mantine-primary-color-filled": "var(--ink)",
    "--mantine-primary-color-filled-hover": "var(--ink-2)",
    "--mantine-primary-color-contrast": "var(--paper)",
    "--mantine-primary-color-light": "var(--gold-wash)",
    "--mantine-primary-color-light-color": "var(--gold-strong)",
    "--mantine-shadow-md": "var(--shadow-raised)",
    "--mantine-shadow-xl": "var(--shadow-raised)",
  };
  return { variables: {}, light: both, dark: both };
};
