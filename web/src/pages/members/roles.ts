import type { Role } from "@/api";

/** Most powerful first, as the lists show them. */
export const ROLES: readonly Role[] = ["owner", "admin", "developer", "billing", "viewer"];
