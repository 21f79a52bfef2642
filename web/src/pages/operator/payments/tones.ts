import type { OperatorPayment, ReversalState } from "@/api";
import type { Tone } from "@/kit";

export const paymentTones: Record<OperatorPayment["state"], Tone> = { open: "info", paid: "ok", failed: "bad" };
export const disputeTones: Record<ReversalState, Tone> = { inquiry: "info", open: "warn", won: "ok", lost: "bad" };
