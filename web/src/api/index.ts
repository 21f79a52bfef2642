export * from "./client";
export type * from "./contract";
export type * from "./operator";
