/** Colours, type and defaults of the dashboard; system fonts, so that nothing is loaded from elsewhere. */
import { createTheme } from "@mantine/core";

export const theme = createTheme({
  primaryColor: "indigo",
  defaultRadius: "md",
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SF Mono', Menlo, Consolas, monospace",
  headings: { fontWeight: "650" },
  respectReducedMotion: true,
  autoContrast: true,
});
