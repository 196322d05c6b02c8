/** Text as it is, in fixed-width type, that scrolls within itself and can be reached by keyboard. */

export function TextBlock({ text, label, maxHeight = 420 }: { text: string; label: string; maxHeight?: number }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1)
    <section className="text-block" tabIndex={0} aria-label={label} style={{ maxHeight }}>
      <pre>{text}</pre>
    </section>
  );
}
