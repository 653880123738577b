/**
 * Bound of a class of work. `parallel`: calls at once in one daemon; `waiting`: further calls that wait for a place, at most `maxWaitSeconds`;
 * `perCaller`: calls of one caller, running and waiting; `perMinute`: the same in time; `perTenant`: running calls of one tenant. `restMs`: a
 * place stays empty for this time after a call.
 */
export type Bound = Readonly<{
  work: string
  perCaller: number
  perMinute?: number
  perTenant?: number
  parallel?: number
  waiting?: number
  maxWaitSeconds?: number
  restMs?: number
}>

/** The cost of a call. Each class is bounded in one place, `daemon/http/work-places.ts`. */
export const costs = {
  read: { work: 'reads a few rows', perCaller: 64 },
  write: { work: 'changes a few rows', perCaller: 64 },
  watch: { work: 'waits for events or commands', perCaller: 64 },
  transfer: { work: 'streams a file', perCaller: 64 },
  // The bucket of files has 1,000 connections (`daemon/objects`), and each download has one until its reader is done.
  download: { work: 'downloads a file', perCaller: 64, perTenant: 200, parallel: 900, waiting: 500, maxWaitSeconds: 10 },
  // A half of the connections that a tenant has to a service, and a sixth of its runs that may wait: one user leaves the rest to others.
  module: { work: 'calls a module', perCaller: 16 },
  document: { work: 'sends the documentation of the API', perCaller: 4, parallel: 1, waiting: 32, maxWaitSeconds: 10, restMs: 250 },
  metrics: { work: 'counts the fleet', perCaller: 4, parallel: 1, waiting: 64, maxWaitSeconds: 10, restMs: 250 },
  password: { work: 'hashes a password', perCaller: 10, parallel: 2, waiting: 32, maxWaitSeconds: 10 },
  export: { work: 'reads many rows', perCaller: 2, perTenant: 1, parallel: 2, waiting: 16, maxWaitSeconds: 10 },
  remote: { work: 'waits for another server, many times', perCaller: 2, perTenant: 2, parallel: 8, waiting: 16, maxWaitSeconds: 10 },
  import: { work: 'writes many rows', perCaller: 1, parallel: 1, waiting: 8, maxWaitSeconds: 10 },
  plan: { work: 'plans the steps of a whole fleet', perCaller: 4, parallel: 8, waiting: 16, maxWaitSeconds: 10 },
  render: { work: 'renders a report as PDF', perCaller: 4, perTenant: 1, parallel: 2, waiting: 16, maxWaitSeconds: 10 },
  simulation: { work: 'checks or simulates a board', perCaller: 10, perTenant: 1, parallel: 4, waiting: 40, maxWaitSeconds: 10 },
  examination: { work: 'scans and tests a package', perCaller: 1, perMinute: 20, parallel: 1, waiting: 8, maxWaitSeconds: 30 },
  rehearsal: { work: 'rehearses a rollout', perCaller: 1, parallel: 1, waiting: 2, maxWaitSeconds: 10 },
} as const satisfies Record<string, Bound>

export type Cost = keyof typeof costs
