import type { MessagePort } from 'node:worker_threads'
import type { RunLimits, RunResult } from '../../core/modules/index.ts'

/** A stored event as a module receives it. */
type ModuleEvent = Readonly<{ type: string; payload: unknown; seq?: number; at?: string }>

type ModuleRequest = Readonly<{
  method: string
  /** Begins with a slash; relative to the module's `apiPrefix`. */
  path: string
  query?: Readonly<Record<string, string>>
  headers?: Readonly<Record<string, string>>
  body?: unknown
  user?: Readonly<{ userId: string; roles: readonly string[] }>
}>

/** The part of a module that a run calls. `describe` reports what it exports and calls nothing. */
export type Job =
  | Readonly<{ type: 'describe' }>
  | Readonly<{ type: 'event'; event: ModuleEvent }>
  | Readonly<{ type: 'request'; request: ModuleRequest }>
  | Readonly<{ type: 'migration'; index: number }>

export type Run = Readonly<{
  /** Code of the module by its path in the package. */
  files: Readonly<Record<string, string>>
  main: string
  job: Job
  settings: Readonly<Record<string, unknown>>
  /** The only time that a module sees, ISO 8601. */
  now: string
  /** Instead of those of the sandbox. */
  limits?: Partial<RunLimits>
}>

export type Task = Omit<Run, 'limits'> & Readonly<{ limits: RunLimits; port: MessagePort }>

/** From the thread of a run to the sandbox. `last`: the thread leaves the pool. */
export type FromRun =
  | Readonly<{ type: 'started' }>
  | Readonly<{ type: 'call'; id: number; name: string; json: string }>
  | Readonly<{ type: 'last'; result: RunResult }>

/** The answer to a call; null ends the run: the host failed. */
export type ToRun = Readonly<{ id: number; json: string | null; violation?: RunResult['violations'][number] }>
