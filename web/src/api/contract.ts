/**
 * The shapes of the console's interface under the names that pages use. They are made of the OpenAPI document, and
 * that of the Rust types: a field that is renamed there does not build here.
 */
import type { components } from "./schema";

type Schemas = components["schemas"];
export type AccountRef = Schemas["AccountRef"];
export type Balance = Schemas["Balance"];
export type Budget = Schemas["Budget"];
export type Home = Schemas["Home"];
export type InstanceInfo = Schemas["InstanceInfo"];
export type Invitation = Schemas["Invitation"];
export type AccountRoutes = Schemas["AccountRoutes"];
export type Key = Schemas["Key"];
export type LedgerLine = Schemas["LedgerLine"];
export type LogDetail = Schemas["LogDetail"];
export type LogRow = Schemas["LogRow"];
export type KeyWithSecret = Schemas["KeyWithSecret"];
export type Member = Schemas["Member"];
export type NewKey = Schemas["NewKey"];
export type Outcome = Schemas["Outcome"];
export type Right = Schemas["Right"];
export type Role = Schemas["Role"];
export type SecondFactor = Schemas["SecondFactor"];
export type Session = Schemas["Session"];
export type SignIn = Schemas["SignIn"];
export type Task = Schemas["Task"];
export type TaskDetail = Schemas["TaskDetail"];
export type UsageLine = Schemas["UsageLine"];
export type Wallet = Schemas["Wallet"];
