/** The public face of the client: everything a user of the package imports. */
export const version = "0.1.0";
