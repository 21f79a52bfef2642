export * from "./client";
export type * from "./contract";
