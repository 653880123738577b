import { z } from 'zod'
import { Slug } from '../boxes/index.ts'
import { admin, type Contract, endpoint, Paging, TimeInput, Timestamp } from '../contract/index.ts'
import { HistoryEntry, Id, Report, RetryVersion, RunDetail, RunStatus, RunSummary } from './contract.ts'

const base = '/api/admin/v1/tenants/:slug/runs'
const ofTenant = z.object({ slug: Slug })
const one = z.object({ slug: Slug, id: Id })

/** A run without people: who started it and who may read it stay in the tenant. */
const OperatorRun = RunSummary.omit({ startedBy: true }).extend({
  spaceName: z.string().nullable().meta({ description: 'The name of the space in `spaceId`, also of a deleted one' }),
})
export type OperatorRun = Readonly<z.infer<typeof OperatorRun>>

const OperatorRunDetail = OperatorRun.extend({
  doneElementIds: z.array(z.string()).meta({ description: 'Elements that a step of the history names' }),
  undelivered: z
    .array(z.object({ type: z.enum(['message', 'report']), elementId: z.string(), at: Timestamp }))
    .meta({ description: 'Messages that were not sent and reports that were not stored, at most 100 of each, without their text' }),
})
export type OperatorRunDetail = Readonly<z.infer<typeof OperatorRunDetail>>

const filter = {
  status: RunStatus.optional(),
  board: Id.optional().meta({ description: 'Id of the board' }),
  element: Id.optional().meta({ description: 'Runs that wait or failed at this element' }),
  startedBefore: TimeInput.optional(),
}

/** Runs changed by one request. */
export const maxBulk = 200

const chosen = { ids: z.array(Id).min(1).max(maxBulk).optional(), ...filter }
const isOneOf = (names: readonly string[]) => ({ anyOf: names.map((name) => ({ required: [name] })) })
const namesRuns = (body: object) => Object.entries(body).some(([name, value]) => name in chosen && value !== undefined)
const mustNameRuns = 'must name runs: ids, status, board, element or startedBefore'

const bodies = {
  cancel: z
    .strictObject(chosen)
    .refine(namesRuns, mustNameRuns)
    .meta(isOneOf(Object.keys(chosen))),
  retry: z
    .strictObject({ ...chosen, boardVersion: RetryVersion })
    .refine(namesRuns, mustNameRuns)
    .refine(({ boardVersion, ids, board }) => boardVersion === undefined || ids !== undefined || board !== undefined, {
      path: ['boardVersion'],
      message: 'needs ids or board: each board has its own versions',
    })
    .meta({ ...isOneOf(Object.keys(chosen)), dependentSchemas: { boardVersion: isOneOf(['ids', 'board']) } }),
}

const manyRuns = <const Verb extends keyof typeof bodies>(verb: Verb, summary: string) =>
  endpoint({
    method: 'POST',
    audit: verb === 'cancel' ? 'run.cancelled' : 'run.retried',
    path: `${base}/${verb}`,
    auth: admin('operator'),
    params: ofTenant,
    body: bodies[verb],
    returns: z.object({
      changed: z.array(z.string()),
      refused: z.array(z.object({ id: z.string(), code: z.string(), message: z.string() })),
      more: z.boolean().meta({ description: `More runs match; one request changes ${maxBulk}` }),
    }),
    summary,
  })

/** The content of a run, for an operator with support access. */
const RunContent = RunDetail.omit({ reports: true }).extend({
  steps: z.array(HistoryEntry.extend({ values: z.record(z.string(), z.unknown()).nullable().meta({ description: 'Values of a form' }) })),
  moreSteps: z
    .boolean()
    .meta({ description: 'There are more steps: the first are listed, at most 1,000 and 4 million characters of them' }),
  reports: z.array(Report).meta({ description: 'The last ones, at most 100 and 4 million characters of them' }),
  users: z.record(z.string(), z.string()).meta({ description: 'The names of the users in `startedBy` and `steps`, by id' }),
})

/** Runs for operators of the platform: states, times and errors. Variables, forms, users and reports need support access. */
export const operatorRunsContract = {
  listTenantRuns: endpoint({
    method: 'GET',
    path: base,
    auth: admin('viewer'),
    params: ofTenant,
    query: Paging.extend(filter),
    returns: z.object({ runs: z.array(OperatorRun), nextCursor: z.string().nullable() }),
    summary: 'Search the runs of a tenant, newest first',
  }),
  cancelTenantRuns: manyRuns('cancel', 'Cancel unfinished runs: their tasks, checkpoints and timers end'),
  retryTenantRuns: manyRuns('retry', 'Continue failed runs at the element that failed'),
  showTenantRun: endpoint({
    method: 'GET',
    path: `${base}/:id`,
    auth: admin('viewer'),
    params: one,
    returns: OperatorRunDetail,
    summary: 'Show the state of a run',
  }),
  readTenantRun: endpoint({
    method: 'POST',
    audit: 'support.used',
    path: `${base}/:id/read`,
    auth: admin('operator'),
    params: one,
    returns: RunContent,
    summary: 'Read variables, forms, approvers and reports of a run; needs support access, and each use is audited',
  }),
  tenantRunHistory: endpoint({
    method: 'GET',
    path: `${base}/:id/history`,
    auth: admin('viewer'),
    params: one,
    query: Paging,
    returns: z.object({ entries: z.array(HistoryEntry.omit({ by: true })), nextCursor: z.string().nullable() }),
    summary: 'List the steps of a run, oldest first, without users and values',
  }),
} as const satisfies Contract
