/** What pages are built from. Names and props are agreed; look inside only to make them better for every page. */
export { Link, useGo, useParam, usePath, useSearch } from "@/app/nav";
export * from "./Badge";
export * from "./Button";
export * from "./Combobox";
export * from "./charts";
export * from "./DataTable";
export * from "./Dialog";
export * from "./Field";
export * as format from "./format";
export * from "./hooks";
export * from "./Menu";
export * from "./Page";
export * from "./SidePanel";
export * from "./states";
export * from "./Tabs";
export * from "./Tips";
export { Toasts, toast } from "./Toasts";
export * from "./values";
