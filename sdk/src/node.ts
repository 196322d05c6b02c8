/** What only Node can do. */
export { version } from "./index.ts";
