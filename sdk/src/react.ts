/** Renders React Email components to HTML with the optional package @react-email/render. email-request.ts calls it. */
import { nameOf } from "./check.ts";
import { badArgument, PosthornError, reasonOf } from "./error.ts";

/** A React element, such as `<Welcome name="Ada" />`. */
export interface ReactElement {
  readonly type: unknown;
  readonly props: unknown;
}

type Render = (element: ReactElement) => Promise<string> | string;

export async function renderReact(element: unknown, field: string): Promise<string> {
  if (typeof element === "function")
    throw badArgument(field, "is a component: pass an element, such as <Welcome /> or createElement(Welcome, props)");
  if (typeof element !== "object" || element === null || !("type" in element) || !("props" in element))
    throw badArgument(field, `must be a React element, such as <Welcome />, not ${nameOf(element)}`);
  const render = await loadRender(field);
  let html: unknown;
  try {
    html = await render(element as ReactElement);
  } catch (cause) {
    throw new PosthornError("invalid_argument", `${field}: the component cannot be rendered: ${reasonOf(cause)}`, {
      cause,
      violations: [{ field, description: "the component cannot be rendered" }],
    });
  }
  if (typeof html !== "string")
    throw badArgument(field, "was rendered to no HTML: check the version of @react-email/render");
  return html;
}

async function loadRender(field: string): Promise<Render> {
  let cause: unknown;
  try {
    // A literal name, so that bundlers include the package where it is installed.
    const { render } = (await import("@react-email/render")) as unknown as { render?: Render };
    if (typeof render === "function") return render;
  } catch (error) {
    cause = error;
  }
  throw new PosthornError(
    "failed_precondition",
    `${field}: needs the package @react-email/render, which cannot be loaded${cause === undefined ? "" : ` (${firstLine(cause)})`}. Run "npm install @react-email/render react react-dom", or render the component yourself and pass html.`,
    { cause, violations: [{ field, description: "needs the package @react-email/render" }] },
  );
}

function firstLine(cause: unknown): string {
  return reasonOf(cause).split("\n")[0]!;
}
