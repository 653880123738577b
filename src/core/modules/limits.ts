import type { Bound } from '../contract/index.ts'

/** The zip of a module. */
export const maxPackageBytes = 50 * 1024 * 1024

/** Limits of one run of a type A module. */
export type RunLimits = Readonly<{
  /** From start to end, waiting for calls included. */
  wallMs: number
  /** Inside the interpreter. */
  interpreterMs: number
  memoryMb: number
  answerBytes: number
  calls: number
  /** Applies to the argument and to the result of a call. */
  callBytes: number
  logLines: number
}>

export const runLimits: RunLimits = {
  wallMs: 2000,
  interpreterMs: 500,
  memoryMb: 32,
  answerBytes: 1_048_576,
  calls: 200,
  callBytes: 262_144,
  logLines: 100,
}

/** A limit that a run broke, or a permission that it used without approval. Shown in the health of the module. */
const violationKinds = [
  'wall_time',
  'interpreter_time',
  'memory',
  'stack',
  'answer_size',
  'call_size',
  'calls',
  'permission',
  'publishes',
  'data_size',
] as const
export type ViolationKind = (typeof violationKinds)[number]
export type Violation = Readonly<{ kind: ViolationKind; message: string }>

type Common = Readonly<{
  /** From start to end. */
  ms: number
  /** Inside the interpreter. */
  interpreterMs: number
  calls: number
  log: readonly string[]
  /** Refused calls, and the limit that ended the run. */
  violations: readonly Violation[]
}>

/**
 * `value`: what a request or description returned, without the property `body`, which is a text of JSON. `failed`: the module threw. `limit`: the
 * run was ended, and nothing of it may be applied.
 */
export type RunResult = Common &
  (
    | Readonly<{ outcome: 'done'; value: unknown; body?: string | undefined }>
    | Readonly<{ outcome: 'failed'; message: string }>
    | Readonly<{ outcome: 'limit'; message: string }>
  )

/** All migrations of an activation or update, from the time on at which they have a place. */
export const maxMigrationMs = 60_000

/** Migrations of all tenants in one daemon. A tenant has one place, so that the others do not wait for a slow migration of it. */
export const migrationBound = {
  ...{ work: 'migrates the documents of a module', perCaller: 10, perTenant: 1, parallel: 2, waiting: 40, maxWaitSeconds: 10 },
} as const satisfies Bound

/** Documents of one module in one tenant. */
export const maxDataBytes = 50_000_000
/** Payload of one published event. */
export const maxPayloadBytes = 16_384
/** Events that one module publishes in one tenant. */
export const maxPublishesPerMinute = 100
