// Sets the color scheme before the first paint, so that a dark page does not flash white. Mantine takes over after it loads.
// In a separate file, because the page's Content-Security-Policy allows no inline scripts.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("mantine-color-scheme-value");
  } catch {}
  const isDark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.setAttribute("data-mantine-color-scheme", isDark ? "dark" : "light");
})();
