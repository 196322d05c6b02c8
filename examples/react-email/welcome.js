// The email as a React component. It uses createElement, so that Node runs it without a JSX compiler.
import { createElement as h } from "react";

export function Welcome({ name, url }) {
  return h(
    "html",
    { lang: "en" },
    h(
      "body",
      { style: { fontFamily: "sans-serif" } },
      h("h1", null, `Welcome, ${name}`),
      h("p", null, "Please ", h("a", { href: url }, "confirm your address"), "."),
    ),
  );
}
